"""Pure: times, sizes and numbers as people write them, and as they like to read them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from ottla.base.units import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS

_UNITS: Final = {
    "ms": 1,
    "s": SECOND_MS,
    "m": MINUTE_MS,
    "h": HOUR_MS,
    "d": DAY_MS,
    "w": 7 * DAY_MS,
}
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhdw])")


def duration_ms(text: str) -> int:
    """Milliseconds in 90s, 1h30m or 2d; ValueError for anything else."""
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"{text!r} is no duration; write 90s, 1h30m or 2d")
    return round(sum(float(number) * _UNITS[unit] for number, unit in parts))


def moment_ms(text: str) -> int:
    """Milliseconds since 1970 at a date and time, UTC unless a zone is given; ValueError for anything else."""
    if text.isdecimal() and len(text) >= 12:  # already milliseconds
        return int(text)
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"{text!r} is no time; write 2026-01-31T12:00:00, or 2026-01-31T12:00:00+01:00"
        ) from None
    zoned = found if found.tzinfo else found.replace(tzinfo=UTC)
    return round(zoned.timestamp() * 1000)


def iso(timestamp_ms: int) -> str:
    """A time for people, UTC; - where there is none."""
    if timestamp_ms < 0:
        return "-"
    try:
        found = datetime.fromtimestamp(timestamp_ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return str(timestamp_ms)  # beyond the year 9999
    return found.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def short_duration(duration_s: float) -> str:
    """A duration for people: 850 ms, 12.5 s, 3 min, 4 h, 2 days."""
    if duration_s < 1:
        return f"{duration_s * 1000:.0f} ms"
    for limit, worth, unit in ((60, 1, "s"), (3600, 60, "min"), (172_800, 3600, "h")):
        if duration_s < limit:
            return f"{duration_s / worth:.3g} {unit}"
    return f"{duration_s / 86_400:.3g} days"


def short_size(size_bytes: float) -> str:
    """A size for people: 512 B, 1.4 MB."""
    for unit in ("B", "kB", "MB", "GB"):
        if abs(size_bytes) < 1000:
            return f"{size_bytes:.3g} {unit}" if unit != "B" else f"{size_bytes:.0f} B"
        size_bytes /= 1000
    return f"{size_bytes:.3g} TB"


def counted(number: int, thing: str) -> str:
    """So many things: 1 record, 2 records."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"

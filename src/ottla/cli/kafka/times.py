"""Dates and durations as people type them for Kafka's commands."""

from __future__ import annotations

import re
import time
from datetime import UTC
from typing import Final

from ottla.cli.kafka.options import Failed

_DURATION: Final = re.compile(
    r"([-+]?)P(?:([-+]?\d+)D)?(T(?=[-+\d])(?:([-+]?\d+)H)?(?:([-+]?\d+)M)?"
    r"(?:([-+]?\d+(?:[.,]\d{0,9})?)S)?)?",
    re.IGNORECASE,
)
_SECONDS: Final = (86400, 3600, 60, 1)


def now_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def epoch_ms(text: str) -> int:
    """Milliseconds since 1970 at a date and time, UTC unless a zone is given."""
    from datetime import datetime  # not needed by those who ask for no time

    if "T" not in text:
        raise Failed(
            f"Error parsing timestamp '{text}'. It does not contain a 'T' according to ISO8601 "
            "format; write 2026-01-31T12:00:00.000"
        )
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise Failed(f'Unparseable date: "{text}"; write 2026-01-31T12:00:00.000') from None
    zoned = found if found.tzinfo else found.replace(tzinfo=UTC)
    return round(zoned.timestamp() * 1000)


def duration_ms(text: str) -> int:
    """Milliseconds in a duration as ISO 8601 writes it: P1DT2H3M4.5S."""
    found = _DURATION.fullmatch(text)
    if found is None or not any(found.group(2, 4, 5, 6)):
        raise Failed(
            f"Text cannot be parsed to a Duration: '{text}'; write P1DT2H for a day and two hours"
        )
    parts = found.group(2, 4, 5, 6)
    seconds = sum(
        float(part.replace(",", ".")) * worth
        for part, worth in zip(parts, _SECONDS, strict=True)
        if part
    )
    return round(seconds * 1000) * (-1 if found[1] == "-" else 1)


def java_date(seconds: float, form: str) -> str:
    """A local time in a format of Java's SimpleDateFormat; letters that it lacks here stay."""
    local = time.localtime(seconds)
    parts = {
        "yyyy": f"{local.tm_year:04}",
        "MM": f"{local.tm_mon:02}",
        "dd": f"{local.tm_mday:02}",
        "HH": f"{local.tm_hour:02}",
        "mm": f"{local.tm_min:02}",
        "ss": f"{local.tm_sec:02}",
        "SSS": f"{int(seconds * 1000) % 1000:03}",
    }
    shown = re.sub("|".join(parts), lambda found: parts[found[0]], form)
    return shown.replace("'", "")

"""Pure: dates as java.text.SimpleDateFormat writes and reads them, in UTC and English."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Final, NamedTuple

from ottla.connect.data.schema import Instant
from ottla.connect.data.values import moment

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_TOKEN: Final = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+")
_ZONE: Final = re.compile(r"Z|GMT|UTC|([+-])(\d\d):?(\d\d)?")


class PatternInvalid(ValueError):
    """A pattern that SimpleDateFormat would refuse, or that is not supported here."""


class _Part(NamedTuple):
    letter: str
    """The letter of a field, or an empty string for text."""
    width: int
    text: str


@cache
def _parts(pattern: str) -> tuple[_Part, ...]:
    return tuple(_cut(pattern))


def _cut(pattern: str) -> Iterator[_Part]:
    pos = 0
    while pos < len(pattern):
        found = _TOKEN.match(pattern, pos)
        if found is None:
            raise PatternInvalid(f"unterminated quote in {pattern!r}")
        pos = found.end()
        letter = found[2]
        if letter is None:
            quoted = found[1]
            text = found[0] if quoted is None else quoted.replace("''", "'") or "'"
            yield _Part("", 0, text)
        elif letter not in _WRITERS:
            raise PatternInvalid(f"Illegal pattern character '{letter}'")
        else:
            yield _Part(letter, len(found[0]), "")


def check_pattern(pattern: str) -> None:
    """Raise PatternInvalid if a pattern cannot be used."""
    _parts(pattern)


def format_instant(pattern: str, instant: Instant) -> str:
    """Return a point in time as text."""
    at = moment(instant)
    return "".join(
        part.text if not part.letter else _WRITERS[part.letter](at, part.width)
        for part in _parts(pattern)
    )


def _number(value: int, width: int) -> str:
    return str(value).rjust(width, "0")


def _name(names: tuple[str, ...], index: int, width: int) -> str:
    return names[index] if width >= 4 else names[index][:3]


_WRITERS: Final[dict[str, Callable[[datetime, int], str]]] = {
    "y": lambda at, w: f"{at.year % 100:02d}" if w == 2 else _number(at.year, w),
    "u": lambda at, w: _number(at.isoweekday(), w),
    "M": lambda at, w: _name(_MONTHS, at.month - 1, w) if w >= 3 else _number(at.month, w),
    "d": lambda at, w: _number(at.day, w),
    "D": lambda at, w: _number(at.timetuple().tm_yday, w),
    "E": lambda at, w: _name(_DAYS, at.weekday(), w),
    "a": lambda at, w: "AM" if at.hour < 12 else "PM",
    "H": lambda at, w: _number(at.hour, w),
    "k": lambda at, w: _number(at.hour or 24, w),
    "K": lambda at, w: _number(at.hour % 12, w),
    "h": lambda at, w: _number(at.hour % 12 or 12, w),
    "m": lambda at, w: _number(at.minute, w),
    "s": lambda at, w: _number(at.second, w),
    "S": lambda at, w: _number(at.microsecond // 1000, w),
    "z": lambda at, w: "UTC" if w < 4 else "Coordinated Universal Time",
    "Z": lambda at, w: "+0000",
    "X": lambda at, w: "Z",
}


def parse_instant(pattern: str, text: str) -> Instant:
    """Return the point in time that a text names; ValueError if it does not follow the pattern.

    As SimpleDateFormat does, what follows the date is ignored, and 31 February is in March.
    """
    fields = {"y": 1970, "M": 1, "d": 1, "H": 0, "m": 0, "s": 0, "S": 0}
    pos, offset_minutes = 0, 0
    parts = _parts(pattern)
    for index, part in enumerate(parts):
        if not part.letter:
            if not text.startswith(part.text, pos):
                raise ValueError(f"{text!r} does not follow {pattern!r}")
            pos += len(part.text)
        elif part.letter in "zZX":
            found = _ZONE.match(text, pos)
            if found is None:
                raise ValueError(f"{text!r} does not follow {pattern!r}")
            if found[1]:
                offset_minutes = int(found[1] + "1") * (int(found[2]) * 60 + int(found[3] or 0))
            pos = found.end()
        else:
            # Adjacent fields have as many digits as letters.
            is_cut = index + 1 < len(parts) and parts[index + 1].letter != ""
            pos = _read(part, text, pos, fields, limit=part.width if is_cut else None)
    return _assemble(fields, offset_minutes)


def _read(part: _Part, text: str, pos: int, fields: dict[str, int], limit: int | None) -> int:
    letter = part.letter
    if (letter == "M" and part.width >= 3) or letter == "E":
        names = _MONTHS if letter == "M" else _DAYS
        for index, name in enumerate(names):
            for form in (name, name[:3]):
                if text[pos : pos + len(form)].lower() == form.lower():
                    if letter == "M":
                        fields["M"] = index + 1
                    return pos + len(form)
        raise ValueError(f"no name of a {'month' if letter == 'M' else 'day'} at {text[pos:]!r}")
    if letter == "a":
        half = text[pos : pos + 2].upper()
        if half not in ("AM", "PM"):
            raise ValueError(f"neither AM nor PM at {text[pos:]!r}")
        fields["a"] = int(half == "PM")
        return pos + 2
    found = re.compile(r"\s*-?\d+").match(text, pos, len(text) if limit is None else pos + limit)
    if found is None:
        raise ValueError(f"no number at {text[pos:]!r}")
    value = int(found[0])
    if letter == "y" and part.width <= 2 and len(found[0].strip()) == 2:
        value += 2000 if value < 46 else 1900
    fields[letter] = value
    return found.end()


def _assemble(fields: dict[str, int], offset_minutes: int) -> Instant:
    hour = fields["H"]
    if "k" in fields:
        hour = fields["k"] % 24
    if "h" in fields or "K" in fields:
        hour = fields.get("K", fields.get("h", 0) % 12) + 12 * fields.get("a", 0)
    years, month = divmod(fields["y"] * 12 + fields["M"] - 1, 12)
    start = datetime(years, month + 1, 1, tzinfo=UTC)
    days = fields["d"] - 1
    if "D" in fields:
        start, days = datetime(fields["y"], 1, 1, tzinfo=UTC), fields["D"] - 1
    at = start + timedelta(
        days=days, hours=hour, minutes=fields["m"] - offset_minutes, seconds=fields["s"]
    )
    return Instant((at - _EPOCH) // timedelta(milliseconds=1) + fields["S"])

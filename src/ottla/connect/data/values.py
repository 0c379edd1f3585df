"""Pure: values as text and text as values, as org.apache.kafka.connect.data.Values does it."""

from __future__ import annotations

import math
import re
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from struct import pack
from typing import Any, Final

from ottla.connect.data.schema import (
    BOOLEAN,
    FLOAT64,
    INTEGER_BITS,
    MS_PER_DAY,
    STRING,
    Instant,
    Schema,
    Type,
)

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MS_PER_YEAR_SHOWN: Final = (-62_135_596_800_000, 253_402_300_800_000)
_LARGEST_FLOAT32: Final = Decimal("3.4028235e38")
_DECIMAL: Final = re.compile(r"[+-]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)(?:[eE][+-]?[0-9]+)?")


def moment(instant: Instant) -> datetime:
    """Return a point in time as Python's own; OverflowError outside the years 1 to 9999."""
    low, high = _MS_PER_YEAR_SHOWN
    if not low <= instant.epoch_ms < high:
        raise OverflowError(f"{instant.epoch_ms} ms is outside the years 1 to 9999")
    return _EPOCH + timedelta(milliseconds=instant.epoch_ms)


def java_double(value: float) -> str:
    """Return a number as Double.toString writes it: 1.0, 1.0E10, NaN."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if math.copysign(1, value) < 0 else "0.0"
    sign, numbers, exponent = Decimal(repr(value)).as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, numbers)).rstrip("0") or "0"
    point = len(numbers) + exponent  # digits before the point
    prefix = "-" if sign else ""
    if -3 < point <= 7:
        whole = text[:point].ljust(max(point, 0), "0") if point > 0 else "0"
        part = text[point:] if point > 0 else "0" * -point + text
        return f"{prefix}{whole}.{part or '0'}"
    return f"{prefix}{text[0]}.{text[1:] or '0'}E{point - 1}"


def java_float(value: float) -> str:
    """Return a FLOAT32 as Float.toString writes it: with no more digits than tell it from its neighbours."""
    if math.isnan(value) or math.isinf(value) or value == 0:
        return java_double(value)
    for digits in range(1, 10):
        short = float(f"{value:.{digits}g}")
        if _float32(short) == _float32(value):
            return java_double(short)
    return java_double(value)


def _float32(value: float) -> bytes:
    try:
        return pack(">f", value)
    except OverflowError:
        return pack(">f", math.copysign(math.inf, value))


def as_text(value: Any, schema: Schema | None = None) -> str | None:
    """Return a value as text, null as None; strings inside of lists and maps are quoted."""
    if value is None:
        return None
    return value if isinstance(value, str) else embedded_text(value, schema)


def embedded_text(value: Any, schema: Schema | None = None) -> str:
    """Return a value as it stands in the text of a list or a map."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        is_short = schema is not None and schema.type is Type.FLOAT32
        return java_float(value) if is_short else java_double(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return b64encode(bytes(value)).decode()
    if isinstance(value, Instant):
        return instant_text(value)
    if isinstance(value, list):
        return "[" + ",".join(map(embedded_text, value)) + "]"
    if isinstance(value, dict):
        pairs = (f"{embedded_text(k)}:{embedded_text(v)}" for k, v in value.items())
        return "{" + ",".join(pairs) + "}"
    return str(value)


def instant_text(value: Instant) -> str:
    """Return a point in time as ISO 8601: within the first day the time alone, at midnight the date alone."""
    at = moment(value)
    clock = f"{at:%H:%M:%S}.{at.microsecond // 1000:03d}Z"
    if value.epoch_ms < MS_PER_DAY:
        return clock
    date = f"{at.year:04d}-{at:%m-%d}"
    return date if value.epoch_ms % MS_PER_DAY == 0 else f"{date}T{clock}"


def parse(text: str) -> tuple[Schema | None, Any]:
    """Return the value that a text looks like, with its schema: a number, true, false, null, or a string.

    A number gets the smallest type that holds it; one with digits behind the point is FLOAT32 if that is large enough.
    """
    stripped = text.strip()
    if stripped == "null":
        return None, None
    if stripped in ("true", "false"):
        return BOOLEAN, stripped == "true"
    if not _DECIMAL.fullmatch(stripped):
        return STRING, text
    number = Decimal(stripped)
    if number == number.to_integral_value():
        whole = int(number)
        for kind, bits in INTEGER_BITS.items():
            if -(1 << bits - 1) <= whole < 1 << bits - 1:
                return Schema(kind), whole
    if abs(number) <= _LARGEST_FLOAT32:
        return Schema(Type.FLOAT32), float(number)
    return FLOAT64, float(number)

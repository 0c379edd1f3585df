"""Pure: numbers, booleans and strings as one another, as Java converts them."""

from __future__ import annotations

import math
from decimal import Decimal
from struct import pack, unpack
from typing import Any, Final

from ottla.connect.data.schema import (
    DATE,
    FLOATS,
    INTEGER_BITS,
    MS_PER_DAY,
    Instant,
    Schema,
    Type,
)
from ottla.connect.data.values import as_text, instant_text
from ottla.connect.errors import DataInvalid

TARGETS: Final = {
    "int8": Type.INT8,
    "int16": Type.INT16,
    "int32": Type.INT32,
    "int64": Type.INT64,
    "float32": Type.FLOAT32,
    "float64": Type.FLOAT64,
    "boolean": Type.BOOLEAN,
    "string": Type.STRING,
}


def wrapped(value: int, bits: int) -> int:
    """Return the lowest bits of a number, as a signed one."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value


def float32(value: float) -> float:
    """Return the nearest FLOAT32."""
    try:
        return float(unpack(">f", pack(">f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def cast(value: Any, schema: Schema | None, target: Type) -> Any:
    """Return a value as another type; null stays null."""
    if value is None:
        return None
    if not isinstance(value, int | float | str | bool | bytes | bytearray | Decimal | Instant):
        found = type(value).__name__ if schema is None else schema.type
        raise DataInvalid(f"Cast transformation does not support casting to/from {found}")
    if target is Type.STRING:
        return instant_text(value) if isinstance(value, Instant) else as_text(value, schema)
    if isinstance(value, Instant):
        is_date = schema is not None and schema.name == DATE
        value = value.epoch_ms // MS_PER_DAY if is_date else value.epoch_ms
    if isinstance(value, bytes | bytearray):
        raise DataInvalid(f"Unexpected value in Cast transformation: bytes cannot become {target}")
    try:
        if target is Type.BOOLEAN:
            return _boolean(value)
        if target in FLOATS:
            number = _floating(value)
            return float32(number) if target is Type.FLOAT32 else number
        return _integer(value, INTEGER_BITS[target])
    except ValueError:
        raise DataInvalid(
            f"Value ({value}) was out of range or no number for requested data type {target}"
        ) from None


def _boolean(value: Any) -> bool:
    if isinstance(value, str):
        return value.lower() == "true"
    return bool(value) if isinstance(value, int) else _integer(value, 64) != 0


def _floating(value: Any) -> float:
    if isinstance(value, str):
        return float(value.strip())
    return float(value)


def _integer(value: Any, bits: int) -> int:
    if isinstance(value, str):
        number = int(value)
        if "_" in value or value != value.strip() or wrapped(number, bits) != number:
            raise ValueError(value)
        return number
    if isinstance(value, float):
        # As in Java: to 32 bits or 64 with saturation, then the lowest bits.
        if math.isnan(value):
            return 0
        width = max(bits, 32)
        limit = 1 << width - 1
        whole = limit - 1 if value >= limit else -limit if value < -limit else int(value)
        return wrapped(whole, bits)
    return wrapped(int(value), bits)

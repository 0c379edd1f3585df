"""Pure: values as the JSON that Kafka's JsonConverter writes."""

from __future__ import annotations

from base64 import b64decode, b64encode
from decimal import Decimal
from typing import Any

from ottla.connect.data.casts import float32
from ottla.connect.data.schema import (
    DATE,
    FLOATS,
    INTEGER_BITS,
    MS_PER_DAY,
    Instant,
    Schema,
    Struct,
    Type,
)
from ottla.connect.data.values import java_float
from ottla.connect.errors import DataInvalid


def to_json(schema: Schema | None, value: Any, *, numeric_decimals: bool = False) -> Any:
    """Return a value as JSON."""
    if value is None:
        if schema is None or (schema.default is None and schema.is_optional):
            return None
        if schema.default is None:
            raise DataInvalid(
                "Conversion error: null value for field that is required and has no default value"
            )
        value = schema.default
    if isinstance(value, Struct):
        return {
            field.name: to_json(field.schema, inner, numeric_decimals=numeric_decimals)
            for field, inner in value.items()
        }
    if isinstance(value, Instant):
        is_date = schema is not None and schema.name == DATE
        return value.epoch_ms // MS_PER_DAY if is_date else value.epoch_ms
    if isinstance(value, Decimal):
        return value if numeric_decimals else b64encode(_unscaled(schema, value)).decode()
    if isinstance(value, float) and schema is not None and schema.type is Type.FLOAT32:
        return float(java_float(value))
    if isinstance(value, bytes | bytearray | memoryview):
        return b64encode(bytes(value)).decode()
    if isinstance(value, list):
        items = None if schema is None else schema.items
        return [to_json(items, each, numeric_decimals=numeric_decimals) for each in value]
    if isinstance(value, dict):
        return _map_to_json(schema, value, numeric_decimals)
    return value


def _map_to_json(schema: Schema | None, value: dict[Any, Any], numeric_decimals: bool) -> Any:
    keys = None if schema is None else schema.keys
    items = None if schema is None else schema.items
    is_object = (
        all(isinstance(key, str) for key in value) if keys is None else keys.type is Type.STRING
    )
    pairs = [
        (
            to_json(keys, key, numeric_decimals=numeric_decimals),
            to_json(items, inner, numeric_decimals=numeric_decimals),
        )
        for key, inner in value.items()
    ]
    return dict(pairs) if is_object else [list(pair) for pair in pairs]


def _scale(schema: Schema | None) -> int:
    return int((schema.parameters or {}).get("scale", 0)) if schema is not None else 0


def _unscaled(schema: Schema | None, value: Decimal) -> bytes:
    scale = _scale(schema)
    unscaled = value.scaleb(scale)
    if unscaled != unscaled.to_integral_value():
        raise DataInvalid("Decimal value has mismatching scale for given Decimal schema")
    number = int(unscaled)
    return number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)


def from_json(schema: Schema | None, given: Any) -> Any:
    """Return the value that JSON stands for; DataInvalid if it does not fit the schema."""
    if schema is None:
        return given
    if given is None:
        if schema.default is not None:
            return schema.default
        if schema.is_optional:
            return None
        raise DataInvalid(f"Invalid null value for required {schema.type} field")
    if schema.is_decimal:
        return _decimal(schema, given)
    if schema.is_instant:
        number = _number(given, schema)
        return Instant(number * MS_PER_DAY if schema.name == DATE else number)
    reader = _READERS.get(schema.type)
    if reader is not None:
        return reader(schema, given)
    if schema.type in INTEGER_BITS:
        return _number(given, schema)
    if schema.type in FLOATS:
        if isinstance(given, bool) or not isinstance(given, int | float | Decimal):
            raise _unfit(schema, given)
        return float32(float(given)) if schema.type is Type.FLOAT32 else float(given)
    wanted = bool if schema.type is Type.BOOLEAN else str
    if not isinstance(given, wanted):
        raise _unfit(schema, given)
    return given


def _number(given: Any, schema: Schema) -> int:
    if isinstance(given, bool) or not isinstance(given, int):
        raise _unfit(schema, given)
    return given


def _decimal(schema: Schema, given: Any) -> Decimal:
    if isinstance(given, int | float | Decimal) and not isinstance(given, bool):
        return Decimal(str(given)).quantize(Decimal(1).scaleb(-_scale(schema)))
    if isinstance(given, str):
        unscaled = int.from_bytes(b64decode(given), "big", signed=True)
        return Decimal(unscaled).scaleb(-_scale(schema))
    raise _unfit(schema, given)


def _bytes(schema: Schema, given: Any) -> bytes:
    if not isinstance(given, str):
        raise _unfit(schema, given)
    return b64decode(given)


def _array(schema: Schema, given: Any) -> list[Any]:
    if not isinstance(given, list):
        raise _unfit(schema, given)
    return [from_json(schema.items, each) for each in given]


def _map(schema: Schema, given: Any) -> dict[Any, Any]:
    if isinstance(given, dict):
        return {key: from_json(schema.items, inner) for key, inner in given.items()}
    if isinstance(given, list):
        return {from_json(schema.keys, key): from_json(schema.items, inner) for key, inner in given}
    raise _unfit(schema, given)


def _struct(schema: Schema, given: Any) -> Struct:
    if not isinstance(given, dict):
        raise _unfit(schema, given)
    values = [from_json(field.schema, given.get(field.name)) for field in schema.fields]
    return Struct(schema, values)


def _unfit(schema: Schema, given: Any) -> DataInvalid:
    return DataInvalid(
        f"a JSON {type(given).__name__} does not fit schema {schema.name or schema.type}"
    )


_READERS = {Type.BYTES: _bytes, Type.ARRAY: _array, Type.MAP: _map, Type.STRUCT: _struct}

"""Pure: schemas of Connect's records.

Values in Python: int for INT8 to INT64, float for FLOAT32 and FLOAT64, bool, str, bytes, list for ARRAY, dict for MAP,
`Struct` for STRUCT. Logical types: `Instant` for Date, Time and Timestamp (milliseconds since the epoch, as
java.util.Date counts them; Python's datetime ends with the year 9999), `decimal.Decimal` for Decimal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from functools import cached_property
from typing import Any, Final, NamedTuple

from ottla.connect.errors import DataInvalid


class Type(StrEnum):
    """Types of values, under Kafka Connect's names."""

    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT32 = "float"
    FLOAT64 = "double"
    BOOLEAN = "boolean"
    STRING = "string"
    BYTES = "bytes"
    ARRAY = "array"
    MAP = "map"
    STRUCT = "struct"


INTEGER_BITS: Final = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}
FLOATS: Final = frozenset((Type.FLOAT32, Type.FLOAT64))
PRIMITIVES: Final = frozenset((*INTEGER_BITS, *FLOATS, Type.BOOLEAN, Type.STRING, Type.BYTES))

DECIMAL: Final = "org.apache.kafka.connect.data.Decimal"
DATE: Final = "org.apache.kafka.connect.data.Date"
TIME: Final = "org.apache.kafka.connect.data.Time"
TIMESTAMP: Final = "org.apache.kafka.connect.data.Timestamp"
INSTANTS: Final = frozenset((DATE, TIME, TIMESTAMP))
MS_PER_DAY: Final = 86_400_000


class Instant(NamedTuple):
    """A point in time, in milliseconds since 1970-01-01 UTC."""

    epoch_ms: int


class Field(NamedTuple):
    """One field of a struct, and where it stands."""

    name: str
    position: int
    schema: Schema


_NO_PARAMETERS: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, eq=True)
class Schema:
    """What a value looks like. `fields` is for structs, `items` for arrays and the values of maps."""

    type: Type
    is_optional: bool = False
    default: Any = None
    name: str | None = None
    version: int | None = None
    doc: str | None = None
    parameters: Mapping[str, str] | None = None
    fields: tuple[Field, ...] = ()
    keys: Schema | None = None
    items: Schema | None = None

    @cached_property
    def _by_name(self) -> dict[str, Field]:
        return {field.name: field for field in self.fields}

    def __hash__(self) -> int:
        return hash((self.type, self.name, self.version, self.is_optional, len(self.fields)))

    def field(self, name: str) -> Field | None:
        """Return a field by its name; None if there is none."""
        return self._by_name.get(name)

    @property
    def is_instant(self) -> bool:
        """True for the logical types Date, Time and Timestamp."""
        return self.name in INSTANTS

    @property
    def is_decimal(self) -> bool:
        """True for the logical type Decimal."""
        return self.name == DECIMAL

    def optional(self) -> Schema:
        """Return the same schema, allowing null."""
        return self if self.is_optional else replace(self, is_optional=True)


def struct(
    fields: Mapping[str, Schema] | Iterator[tuple[str, Schema]],
    *,
    like: Schema | None = None,
    **details: Any,
) -> Schema:
    """Return the schema of a struct; `like` gives name, version, doc, parameters, default and optionality."""
    pairs = fields.items() if isinstance(fields, Mapping) else fields
    numbered = tuple(Field(name, position, schema) for position, (name, schema) in enumerate(pairs))
    if like is not None:
        return replace(like, fields=numbered, **details)
    return Schema(Type.STRUCT, fields=numbered, **details)


def array(items: Schema, **details: Any) -> Schema:
    """Return the schema of an array."""
    return Schema(Type.ARRAY, items=items, **details)


def mapping(keys: Schema, items: Schema, **details: Any) -> Schema:
    """Return the schema of a map."""
    return Schema(Type.MAP, keys=keys, items=items, **details)


STRING: Final = Schema(Type.STRING)
OPTIONAL_STRING: Final = Schema(Type.STRING, is_optional=True)
BYTES: Final = Schema(Type.BYTES)
OPTIONAL_BYTES: Final = Schema(Type.BYTES, is_optional=True)
INT32: Final = Schema(Type.INT32)
INT64: Final = Schema(Type.INT64)
OPTIONAL_INT64: Final = Schema(Type.INT64, is_optional=True)
FLOAT64: Final = Schema(Type.FLOAT64)
BOOLEAN: Final = Schema(Type.BOOLEAN)


def logical_timestamp(*, is_optional: bool = False) -> Schema:
    """Return the schema of a point in time."""
    return Schema(Type.INT64, is_optional=is_optional, name=TIMESTAMP, version=1)


def logical_date(*, is_optional: bool = False) -> Schema:
    """Return the schema of a day."""
    return Schema(Type.INT32, is_optional=is_optional, name=DATE, version=1)


def logical_time(*, is_optional: bool = False) -> Schema:
    """Return the schema of a time of day."""
    return Schema(Type.INT32, is_optional=is_optional, name=TIME, version=1)


def logical_decimal(scale: int, *, is_optional: bool = False) -> Schema:
    """Return the schema of a decimal number with so many digits behind the point."""
    parameters = {"scale": str(scale)}
    return Schema(
        Type.BYTES, is_optional=is_optional, name=DECIMAL, version=1, parameters=parameters
    )


class Struct:
    """The values of a struct's fields, in the order of its schema."""

    __slots__ = ("schema", "values")

    def __init__(self, schema: Schema, values: list[Any] | None = None) -> None:
        if schema.type is not Type.STRUCT:
            raise DataInvalid(f"not a struct schema: {schema.type}")
        self.schema = schema
        self.values = [None] * len(schema.fields) if values is None else values

    def __getitem__(self, name: str) -> Any:
        """Return a field's value, or its default."""
        field = self._field(name)
        value = self.values[field.position]
        return field.schema.default if value is None else value

    def raw(self, name: str) -> Any:
        """Return a field's value as it was set, without its default."""
        return self.values[self._field(name).position]

    def __setitem__(self, name: str, value: Any) -> None:
        self.values[self._field(name).position] = value

    def items(self) -> Iterator[tuple[Field, Any]]:
        """Return each field with its value."""
        return zip(self.schema.fields, self.values, strict=True)

    def _field(self, name: str) -> Field:
        field = self.schema.field(name)
        if field is None:
            raise DataInvalid(f"{name} is not a valid field name")
        return field

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Struct)
            and self.schema == other.schema
            and self.values == other.values
        )

    __hash__ = None  # type: ignore[assignment]  # its values change

    def __repr__(self) -> str:
        inside = ", ".join(f"{field.name}={value!r}" for field, value in self.items())
        return f"Struct({inside})"


def check(schema: Schema, value: Any, where: str = "value") -> None:
    """Raise DataInvalid if a value does not fit its schema."""
    if value is None:
        if not schema.is_optional and schema.default is None:
            raise DataInvalid(f"{where}: null used for required {schema.type}")
        return
    if not _fits(schema, value):
        raise DataInvalid(
            f"{where}: {type(value).__name__} does not fit schema {schema.name or schema.type}"
        )
    if schema.type is Type.STRUCT:
        for field, inner in value.items():
            check(field.schema, inner, f"{where}.{field.name}")
    elif schema.type is Type.ARRAY and schema.items is not None:
        for inner in value:
            check(schema.items, inner, where)
    elif schema.type is Type.MAP and schema.items is not None and schema.keys is not None:
        for key, inner in value.items():
            check(schema.keys, key, where)
            check(schema.items, inner, where)


def _fits(schema: Schema, value: Any) -> bool:
    if schema.is_instant:
        return isinstance(value, Instant)
    if schema.is_decimal:
        return isinstance(value, Decimal)
    bits = INTEGER_BITS.get(schema.type)
    if bits is not None:
        is_int = isinstance(value, int) and not isinstance(value, bool)
        return is_int and -(1 << bits - 1) <= value < 1 << bits - 1
    return isinstance(value, _PYTHON_TYPES[schema.type])


_PYTHON_TYPES: Final[Mapping[Type, type | tuple[type, ...]]] = {
    Type.FLOAT32: float,
    Type.FLOAT64: float,
    Type.BOOLEAN: bool,
    Type.STRING: str,
    Type.BYTES: (bytes, bytearray, memoryview),
    Type.ARRAY: list,
    Type.MAP: dict,
    Type.STRUCT: Struct,
}

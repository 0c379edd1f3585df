"""Pure: which columns of a frame are written, and what is wrong with a frame that cannot be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from ottla.base.errors import OttlaError

HEADERS: Final = ArrayType(
    StructType([StructField("key", StringType()), StructField("value", BinaryType())])
)
_TEXT: Final = "string or binary"
_HEADERS_TEXT: Final = "array<struct<key: string, value: binary>>"


@dataclass(frozen=True)
class SinkColumns:
    """Which of the columns that matter a frame has; all others are left out, as in the connector."""

    topic: str | None
    """The one topic of all rows; None: the column says it."""
    has_key: bool
    has_headers: bool
    has_partition: bool
    has_timestamp: bool = False


def sink_columns(schema: StructType, topic: str | None, *, timestamps: bool = False) -> SinkColumns:
    """What to write of a frame of this schema; OttlaError says what to change.

    A column timestamp is the records' time only with `timestamps`: frames that were read have one by chance.
    """
    fields = {field.name: field.dataType for field in schema.fields}
    if topic is None and "topic" not in fields:
        raise OttlaError(
            "it is not known which topic to write to: set option('topic', ...), or add a column topic"
        )
    if "value" not in fields:
        raise OttlaError(
            f"the frame has no column value, only {', '.join(fields) or 'none at all'}; name one so, "
            "for example with to_json(struct('*')).alias('value')"
        )
    for name in ("key", "value"):
        _check(fields, name, (StringType, BinaryType), _TEXT)
    if topic is None:
        _check(fields, "topic", (StringType,), "string")
    _check(fields, "partition", (IntegerType,), "int")
    _check_headers(fields)
    if timestamps:
        if "timestamp" not in fields:
            raise OttlaError("includeTimestamp is set, but the frame has no column timestamp")
        _check(fields, "timestamp", (TimestampType,), "timestamp")
    return SinkColumns(
        topic, "key" in fields, "headers" in fields, "partition" in fields, timestamps
    )


def _check(
    fields: dict[str, DataType], name: str, kinds: tuple[type[DataType], ...], wanted: str
) -> None:
    found = fields.get(name)
    if found is not None and not isinstance(found, kinds):
        raise OttlaError(
            f"the column {name} is of type {found.simpleString()} and must be {wanted}; convert it, "
            f"for example with col('{name}').cast('{wanted.split()[0]}')"
        )


def _check_headers(fields: dict[str, DataType]) -> None:
    found = fields.get("headers")
    if found is None:
        return
    element = found.elementType if isinstance(found, ArrayType) else None
    inner = element.fields if isinstance(element, StructType) else []
    shape = [(field.name, type(field.dataType)) for field in inner]
    if shape != [("key", StringType), ("value", BinaryType)]:
        raise OttlaError(
            f"the column headers is of type {found.simpleString()} and must be {_HEADERS_TEXT}"
        )

"""The columns of the source, those of Spark's Kafka connector."""

from __future__ import annotations

from typing import Final

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

HEADERS: Final = ArrayType(
    StructType([StructField("key", StringType()), StructField("value", BinaryType())])
)
_COLUMNS: Final[dict[str, DataType]] = {
    "key": BinaryType(),
    "value": BinaryType(),
    "topic": StringType(),
    "partition": IntegerType(),
    "offset": LongType(),
    "timestamp": TimestampType(),
    "timestampType": IntegerType(),
}


def source_schema(headers: bool) -> StructType:
    """The columns of a read, with `headers` where they are asked for."""
    columns = _COLUMNS | {"headers": HEADERS} if headers else _COLUMNS
    return StructType([StructField(name, column) for name, column in columns.items()])

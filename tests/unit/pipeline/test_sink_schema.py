"""Which frames can be written, and what is said about those that cannot."""

import pytest
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

from ottla.base.errors import OttlaError
from ottla.pipeline.sink_schema import SinkColumns, sink_columns


def headers(value: DataType) -> ArrayType:
    fields = [StructField("key", StringType()), StructField("value", value)]
    return ArrayType(StructType(fields))


TYPES: dict[str, DataType] = {
    "int": IntegerType(),
    "bigint": LongType(),
    "string": StringType(),
    "binary": BinaryType(),
    "timestamp": TimestampType(),
    "strings": ArrayType(StringType()),
    "headers": headers(BinaryType()),
    "headers-of-text": headers(StringType()),
}


def columns(described: str, topic: str | None = "t") -> SinkColumns:
    pairs = (each.split() for each in described.split(", "))
    return sink_columns(StructType([StructField(name, TYPES[kind]) for name, kind in pairs]), topic)


def test_a_value_alone_is_enough() -> None:
    assert columns("value binary") == SinkColumns("t", False, False, False)
    assert columns("value string") == SinkColumns("t", False, False, False)


def test_all_that_the_source_has_can_be_written_back() -> None:
    described = (
        "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, "
        "timestampType int, headers headers"
    )
    assert columns(described, None) == SinkColumns(None, True, True, True)


def test_the_option_wins_over_the_column() -> None:
    assert columns("topic string, value string", "t").topic == "t"
    assert columns("topic string, value string", None).topic is None


@pytest.mark.parametrize(
    ("described", "topic", "sentence"),
    [
        ("value string", None, "set option('topic', ...), or add a column topic"),
        ("key string", "t", "no column value, only key"),
        ("value int", "t", "value is of type int and must be string or binary"),
        ("value string, key bigint", "t", "col('key').cast('string')"),
        ("value string, topic int", None, "topic is of type int and must be string"),
        ("value string, partition bigint", "t", "partition is of type bigint and must be int"),
        ("value string, headers string", "t", "headers is of type string and must be array"),
        ("value string, headers strings", "t", "must be array<struct<key: string, value"),
        (
            "value string, headers headers-of-text",
            "t",
            "must be array<struct<key: string, value: binary>>",
        ),
    ],
)
def test_what_cannot_be_written_is_said_with_what_to_do(
    described: str, topic: str | None, sentence: str
) -> None:
    with pytest.raises(OttlaError) as error:
        columns(described, topic)
    assert sentence in str(error.value)


def test_a_timestamp_is_that_of_the_record_only_if_asked_for() -> None:
    schema = StructType([StructField("value", StringType()), StructField("timestamp", LongType())])
    assert not sink_columns(schema, "t").has_timestamp
    with pytest.raises(OttlaError, match="timestamp is of type bigint and must be timestamp"):
        sink_columns(schema, "t", timestamps=True)
    with pytest.raises(OttlaError, match="has no column timestamp"):
        sink_columns(StructType([StructField("value", StringType())]), "t", timestamps=True)

"""The writers as Spark makes them on the driver."""

import pytest
from pyspark.sql.types import StringType, StructField, StructType

from ottla.pipeline.sink import stream_sink

SCHEMA = StructType([StructField("value", StringType())])


def test_a_query_is_warned_once_though_two_processes_make_its_writers(
    bootstrap: str, caplog: pytest.LogCaptureFixture
) -> None:
    options = {
        "kafka.bootstrap.servers": bootstrap,
        "topic": "t",
        "delivery": "at_least_once",
        "kafka.linger.ms": "5",
    }
    planned = stream_sink(options, SCHEMA)
    assert not caplog.records, "the process that plans says nothing"
    planned.commit([], 0)
    stream_sink(options, SCHEMA).commit([], 1)
    assert [record.message for record in caplog.records] == [
        "without meaning for format('ottla'), and passed over: kafka.linger.ms"
    ]

"""The sink on Apache Kafka, which knows no transaction groups: at least once, and it says so."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ottla.base.errors import ConfigError
from ottla.pipeline import sink
from ottla.pipeline.sink_options import SinkOptions, read_sink_options
from tests.support.clients import consume, create_topic


def options(kafka: str, **others: str) -> SinkOptions:
    return read_sink_options({"kafka.bootstrap.servers": kafka, **others}, streaming=True)


def test_the_default_is_at_least_once_with_one_warning(
    kafka: str, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        assert sink.settle_delivery(options(kafka))[1] is False
    assert [record.message.partition(":")[0] for record in caplog.records] == [
        "rows are written at least once"
    ]


def test_exactly_once_is_refused_and_at_least_once_says_nothing(
    kafka: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(ConfigError, match="write to ottla, or set delivery=at_least_once"):
        sink.settle_delivery(options(kafka, delivery="exactly_once"))
    sink.settle_delivery(options(kafka, delivery="at_least_once"))
    assert not caplog.records


def test_rows_arrive(kafka: str, spark: SparkSession, tmp_path: Path) -> None:
    topic = create_topic(kafka)
    named = {"kafka.bootstrap.servers": kafka, "topic": topic}
    frame = spark.range(100).selectExpr("cast(id as string) value")
    frame.write.format("ottla").options(**named).mode("append").save()
    assert sorted(int(message.value()) for message in consume(kafka, topic)) == list(range(100))

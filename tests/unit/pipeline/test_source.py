"""What Spark finds under the name ottla."""

import pytest
from pyspark.sql.datasource import DataSourceReader

from ottla.pipeline.source import OttlaSource
from ottla.pipeline.source_batch import reading
from ottla.pipeline.source_options import read_source_options
from pyspark_ottla import DefaultSource

OPTIONS = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "t"}


def test_spark_finds_the_source_by_its_name() -> None:
    assert DefaultSource is OttlaSource
    assert DefaultSource.name() == "ottla"


def test_a_setting_of_java_alone_draws_one_warning() -> None:
    source = OttlaSource(OPTIONS | {"kafka.max.poll.records": "1", "kafka.send.buffer.bytes": "1"})
    with pytest.warns(UserWarning, match="passed over: kafka.max.poll.records, kafka.send") as seen:
        schema = source.schema()
    source.reader(schema)
    assert len(seen) == 1


def test_spark_does_not_notice_push_down_while_it_is_off() -> None:
    source = OttlaSource(OPTIONS)
    reader = source.reader(source.schema())
    assert reader.pushFilters.__func__ is DataSourceReader.pushFilters
    assert reader.pushFilters([]) == []


def test_tasks_are_told_how_to_read() -> None:
    how = reading(
        read_source_options(
            OPTIONS
            | {
                "kafkaConsumer.pollTimeoutMs": "77",
                "failOnDataLoss": "false",
                "includeHeaders": "true",
                "kafka.isolation.level": "read_committed",
                "kafka.max.partition.fetch.bytes": "1000",
            }
        )
    )
    assert how.timeout_ms == 77
    assert (how.fail_on_data_loss, how.headers, how.read_committed) == (False, True, True)
    assert how.client["max.partition.fetch.bytes"] == "1000"

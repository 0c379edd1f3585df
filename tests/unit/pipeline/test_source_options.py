"""The options of a read: the names and meanings of Spark's Kafka connector."""

import pytest

from ottla.base.errors import ConfigError
from ottla.base.ids import TopicPartition
from ottla.pipeline.offsets import EARLIEST_BOUND, LATEST_BOUND, Bound
from ottla.pipeline.options import meaningless
from ottla.pipeline.source_options import (
    SourceOptions,
    for_batch,
    for_stream,
    read_source_options,
)

BROKER = {"kafka.bootstrap.servers": "localhost:9092"}


def read(**options: str) -> SourceOptions:
    return read_source_options({**BROKER, "subscribe": "t", **options})


def refused(options: dict[str, str]) -> str:
    with pytest.raises(ConfigError) as caught:
        read_source_options(options)
    return str(caught.value)


def test_names_do_not_care_for_the_case_of_letters() -> None:
    options = read(failondataloss="FALSE", MINPARTITIONS="4")
    assert (options.fail_on_data_loss, options.min_partitions) == (False, 4)


def test_a_misspelt_option_is_refused_with_the_one_that_was_meant() -> None:
    assert "did you mean startingOffsets?" in refused({**BROKER, "startingOffset": "latest"})
    said = refused({**BROKER, "subscribe": "t", "kafka.isolation.levle": "read_committed"})
    assert "did you mean kafka.isolation.level?" in said
    assert "no such option" in refused({**BROKER, "subscribe": "t", "zzz": "1"})


def test_settings_of_java_alone_are_passed_over_and_named_once() -> None:
    options = read(**{"kafka.max.poll.records": "5", "kafka.metric.reporters": "x"})
    assert options.without_meaning == ("max.poll.records", "metric.reporters")
    assert "kafka.max.poll.records, kafka.metric.reporters" in meaningless(options.without_meaning)
    assert "max.poll.records" not in options.client


@pytest.mark.parametrize(
    "name", ["auto.offset.reset", "enable.auto.commit", "key.deserializer", "interceptor.classes"]
)
def test_what_spark_refuses_is_refused(name: str) -> None:
    assert f"kafka.{name}" in refused({**BROKER, "subscribe": "t", f"kafka.{name}": "x"})


def test_exactly_one_option_says_what_to_read() -> None:
    assert "none of them" in refused(BROKER)
    both = {**BROKER, "subscribe": "t", "subscribePattern": "t.*"}
    assert "subscribe and subscribePattern" in refused(both)


def test_without_a_broker_nothing_can_be_read() -> None:
    assert "kafka.bootstrap.servers: is missing" in refused({"subscribe": "t"})
    assert "kafka.bootstrap.servers=nowhere" in refused(
        {"kafka.bootstrap.servers": "nowhere", "subscribe": "t"}
    )


def test_the_ways_to_subscribe() -> None:
    assert read(subscribe="a, b,a").subscribe == ("a", "b")
    assigned = read_source_options({**BROKER, "assign": '{"t":[1]}'})
    assert assigned.assign == (TopicPartition("t", 1),)
    assert "no regular expression" in refused({**BROKER, "subscribePattern": "a("})


def test_a_batch_covers_everything_unless_told_otherwise() -> None:
    options = for_batch(read())
    assert (options.starting, options.ending) == (EARLIEST_BOUND, LATEST_BOUND)


def test_a_stream_begins_at_the_end_unless_told_otherwise() -> None:
    assert for_stream(read()).starting == LATEST_BOUND


def test_the_most_specific_time_wins() -> None:
    options = read(
        startingTimestamp="5", startingOffsetsByTimestamp='{"t":{"0":7}}', startingOffsets="latest"
    )
    assert for_stream(options).starting == Bound(by_time=True, everywhere=5)


@pytest.mark.parametrize(
    "options",
    [
        {"startingOffsets": "latest"},
        {"startingOffsets": '{"t":{"0":-1}}'},
        {"endingOffsets": "earliest"},
        {"endingOffsets": '{"t":{"0":-2}}'},
    ],
)
def test_a_batch_that_could_only_be_empty_is_refused(options: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="would be empty"):
        for_batch(read(**options))


def test_a_stream_has_no_end() -> None:
    with pytest.raises(ConfigError, match="availableNow"):
        for_stream(read(endingOffsets="latest"))


@pytest.mark.parametrize(
    ("text", "ms"), [("15m", 900_000), ("10s", 10_000), ("250", 250), ("2 h", 7_200_000)]
)
def test_delays_have_units(text: str, ms: int) -> None:
    assert read(maxTriggerDelay=text).max_trigger_delay_ms == ms


def test_a_wrong_value_is_named_with_what_is_allowed() -> None:
    for name, value in (
        ("maxTriggerDelay", "soon"),
        ("minPartitions", "0"),
        ("includeHeaders", "maybe"),
        ("startingOffsets", "first"),
        ("startingOffsetsByTimestampStrategy", "guess"),
    ):
        assert f"{name}={value}: must be" in refused({**BROKER, "subscribe": "t", name: value})


def test_the_least_is_not_above_the_most() -> None:
    options = {"minOffsetsPerTrigger": "10", "maxOffsetsPerTrigger": "5"}
    assert "must not be above" in refused({**BROKER, "subscribe": "t", **options})


def test_isolation() -> None:
    assert not read().read_committed
    assert read(**{"kafka.isolation.level": "read_committed"}).read_committed
    said = refused({**BROKER, "subscribe": "t", "kafka.isolation.level": "some"})
    assert said.startswith("kafka.isolation.level=some")

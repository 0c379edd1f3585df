"""A stream's reader as Spark calls it: where its first batch begins and ends, also when that is repeated."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from ottla.base.errors import OttlaError
from ottla.pipeline.offsets import from_json, to_json
from ottla.pipeline.reading import DataLoss
from ottla.pipeline.source_options import for_stream, read_source_options
from ottla.pipeline.stream import StreamReader
from tests.pipeline.streams import fill, numbers
from tests.pipeline.topics import add_partitions, delete_before, delete_topic
from tests.support.clients import create_named, create_topic, produce

pytestmark = pytest.mark.compat

Offsets = dict[str, dict[str, int]]


@pytest.fixture
def process(bootstrap: str) -> Iterator[Callable[..., StreamReader]]:
    """What Spark starts for a query, once for each run of it."""
    made: list[StreamReader] = []

    def run(**options: str) -> StreamReader:
        given = {"kafka.bootstrap.servers": bootstrap, "publishProgress": "false", **options}
        made.append(StreamReader(for_stream(read_source_options(given))))
        return made[-1]

    yield run
    for each in made:
        each.stop()


def plain(end: Offsets) -> Offsets:
    """Offsets without the ids of their topics."""
    return to_json(from_json(end))


def look(reader: StreamReader, start: Offsets) -> Offsets:
    """The end of the next batch."""
    return reader.latestOffset(start, ReadAllAvailable())


def tasks(reader: StreamReader, start: Offsets, end: Offsets) -> list[Any]:
    return [(*each.range[0], *each.range[1:]) for each in reader.partitions(start, end)]  # type: ignore[attr-defined]


def test_a_first_batch_that_is_repeated_skips_nothing(
    process: Callable[..., StreamReader], bootstrap: str, topic: str
) -> None:
    fill(bootstrap, topic, numbers(0, 3))
    killed = process(subscribe=topic)
    start = killed.initialOffset()
    fill(bootstrap, topic, numbers(3, 5))
    end = look(killed, start)
    assert end == start
    assert plain(end) == {topic: {"0": 3}}, "the checkpoint will hold where the stream began"
    # Now offsets/0 is written, commits/0 is not, and more arrives before the next run.
    fill(bootstrap, topic, numbers(5, 6))
    add_partitions(bootstrap, topic, 2)
    again = process(subscribe=topic)
    assert tasks(again, again.initialOffset(), end) == []
    beyond = look(again, end)
    assert plain(beyond) == {topic: {"0": 6, "1": 0}}
    assert tasks(again, end, beyond) == [(topic, 0, 3, 6)]


def test_only_partitions_that_begin_at_their_end_wait_for_the_second_batch(
    process: Callable[..., StreamReader], bootstrap: str
) -> None:
    topic = create_topic(bootstrap, partitions=2)
    fill(bootstrap, topic, numbers(0, 10), partitions=2)
    reader = process(subscribe=topic, startingOffsets=json.dumps({topic: {"0": 2, "1": -1}}))
    start = reader.initialOffset()
    fill(bootstrap, topic, numbers(10, 20), partitions=2)
    end = look(reader, start)
    assert plain(end) == {topic: {"0": 10, "1": 5}}
    assert tasks(reader, start, end) == [(topic, 0, 2, 10)]
    assert plain(look(reader, end)) == {topic: {"0": 10, "1": 10}}


def test_a_time_later_than_all_records(
    process: Callable[..., StreamReader], bootstrap: str
) -> None:
    topic = create_topic(bootstrap, retention_ms=-1)
    late = {"startingTimestamp": "5000", "startingOffsetsByTimestampStrategy": "latest"}
    produce(bootstrap, topic, [{"value": b"early", "timestamp": 1000}])
    killed = process(subscribe=topic, **late)
    end = look(killed, killed.initialOffset())
    produce(bootstrap, topic, [{"value": b"v", "timestamp": at} for at in (4000, 6000)])
    again = process(subscribe=topic, **late)
    assert plain(again.initialOffset()) == {topic: {"0": 2}}
    assert tasks(again, again.initialOffset(), end) == []
    assert tasks(again, end, look(again, end)) == [(topic, 0, 1, 3)]


def test_a_first_batch_that_is_lost_before_it_is_repeated(
    process: Callable[..., StreamReader], bootstrap: str, topic: str
) -> None:
    fill(bootstrap, topic, numbers(0, 4))
    options = {"subscribe": topic, "startingOffsets": "earliest"}
    killed = process(**options)
    end = look(killed, killed.initialOffset())
    fill(bootstrap, topic, numbers(4, 8))
    delete_before(bootstrap, topic, 6)
    again = process(**options)
    with pytest.raises(DataLoss, match="was read up to offset 6, but ends at 4 now"):
        again.partitions(again.initialOffset(), end)


def test_what_begins_at_a_named_offset_is_no_end_that_moved(
    process: Callable[..., StreamReader], bootstrap: str
) -> None:
    topic = create_topic(bootstrap, partitions=2)
    fill(bootstrap, topic, numbers(0, 8), partitions=2)
    options = {"subscribe": topic, "startingOffsets": json.dumps({topic: {"0": -2, "1": -1}})}
    killed = process(**options)
    end = look(killed, killed.initialOffset())
    assert plain(end) == {topic: {"0": 4, "1": 4}}
    fill(bootstrap, topic, numbers(8, 12), partitions=2)
    delete_before(bootstrap, topic, 5)
    again = process(**options)
    with pytest.raises(DataLoss, match=f"{topic}-0 was read up to offset 5, but ends at 4"):
        again.partitions(again.initialOffset(), end)


def test_a_checkpoint_of_another_stream(
    process: Callable[..., StreamReader], bootstrap: str, topic: str
) -> None:
    other = {"some-other-topic": {"0": 7}}
    for way in (
        {"subscribe": topic},
        {"subscribePattern": f"{topic}.*"},
        {"assign": json.dumps({topic: [0]})},
    ):
        with pytest.raises(
            DataLoss, match=r"reads some-other-topic-0, .* checkpointLocation of its"
        ):
            look(process(**way), other)
    with pytest.warns(UserWarning, match="which this one does not; the stream goes on without"):
        end = look(process(subscribe=topic, failOnDataLoss="false"), other)
    assert plain(end) == {topic: {"0": 0}}


def test_a_topic_that_is_deleted_between_two_looks(
    process: Callable[..., StreamReader], bootstrap: str, topic: str
) -> None:
    left = create_topic(bootstrap)
    seldom = {"subscribe": f"{topic},{left}", "partition.metadata.cache.ttl.ms": "3600000"}
    strict, lax = process(**seldom), process(**seldom, failOnDataLoss="false")
    start = strict.initialOffset()
    assert lax.initialOffset() == look(lax, start) == look(strict, start) == start
    delete_topic(bootstrap, topic)
    with pytest.raises(OttlaError, match=f"there is no partition {topic}-0 .*failOnDataLoss=false"):
        look(strict, start)
    with pytest.warns(UserWarning, match=f"{topic}-0 is gone; the stream goes on without"):
        assert plain(look(lax, start)) == {left: {"0": 0}}


def made_anew(bootstrap: str, topic: str, values: list[bytes]) -> None:
    """Delete a topic, make one of the same name, and write to that."""
    delete_topic(bootstrap, topic)
    create_named(bootstrap, topic)
    fill(bootstrap, topic, values)


def values(reader: StreamReader, start: Offsets, end: Offsets) -> list[bytes]:
    """What the tasks of a batch read."""
    return [
        value
        for each in reader.partitions(start, end)
        for batch in reader.read(each)
        for value in batch.column("value").to_pylist()
    ]


def test_a_topic_that_was_made_anew_and_has_outgrown_the_checkpoint(
    process: Callable[..., StreamReader], bootstrap: str, topic: str
) -> None:
    fill(bootstrap, topic, numbers(0, 3))
    options = {"subscribe": topic, "startingOffsets": "earliest"}
    first = process(**options)
    end = look(first, first.initialOffset())
    assert values(first, first.initialOffset(), end) == numbers(0, 3)
    made_anew(bootstrap, topic, numbers(10, 15))
    with pytest.raises(DataLoss, match=f"{topic} was deleted and made anew since it was read"):
        look(process(**options), end)
    lax = process(**options, failOnDataLoss="false")
    with pytest.warns(UserWarning, match="made anew"):
        beyond = look(lax, end)
    with pytest.warns(UserWarning, match="made anew"):
        found = values(lax, end, beyond)
    assert found == numbers(10, 15), "from its beginning"


def test_a_topic_that_was_made_anew_with_as_many_records_as_before(
    process: Callable[..., StreamReader], bootstrap: str, topic: str
) -> None:
    fill(bootstrap, topic, numbers(0, 3))
    options = {"subscribe": topic, "startingOffsets": "earliest", "failOnDataLoss": "false"}
    reader = process(**options)
    end = look(reader, reader.initialOffset())
    made_anew(bootstrap, topic, numbers(10, 13))
    again = process(**options)
    with pytest.warns(UserWarning, match="made anew"):
        beyond = look(again, end)
    with pytest.warns(UserWarning, match="made anew"):
        found = values(again, end, beyond)
    assert found == numbers(10, 13)


def test_a_topic_that_is_made_anew_between_the_plan_of_a_batch_and_its_tasks(
    process: Callable[..., StreamReader],
    bootstrap: str,
    topic: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ottla.pipeline.reading._DELETED_AFTER_MS", 200)
    fill(bootstrap, topic, numbers(0, 3))
    reader = process(subscribe=topic, startingOffsets="earliest")
    start = reader.initialOffset()
    end = look(reader, start)
    made_anew(bootstrap, topic, numbers(10, 15))
    with pytest.raises(DataLoss, match=f"{topic}-0 could not be read .* the topic was deleted"):
        values(reader, start, end)


def test_a_checkpoint_without_topic_ids_is_told_of_once(
    process: Callable[..., StreamReader], bootstrap: str, topic: str
) -> None:
    fill(bootstrap, topic, numbers(0, 3))
    reader = process(subscribe=topic)
    with pytest.warns(UserWarning, match=f"does not say which ids the topics {topic} had"):
        assert look(reader, {topic: {"0": 3}}) == {topic: {"0": 3}}, "nothing new, no batch"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fill(bootstrap, topic, numbers(3, 4))
        end = look(reader, {topic: {"0": 3}})
    assert values(reader, {topic: {"0": 3}}, end) == numbers(3, 4)
    assert end != plain(end), "from now on it is known"

"""spark.readStream.format("ottla"): where a stream begins, what it is cut into, and what may change while it runs."""

from __future__ import annotations

import json

import pytest

from tests.pipeline.streams import WITHIN_S, Streams, fill, numbers
from tests.pipeline.topics import add_partitions, delete_topic
from tests.support.clients import create_topic, produce
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.compat, pytest.mark.java]

T0_MS = 1_700_000_000_000


def test_a_stream_begins_where_it_is_told(streams: Streams) -> None:
    topic = create_topic(streams.bootstrap, partitions=2, retention_ms=-1)
    records = [
        {"value": value, "partition": n % 2, "timestamp": T0_MS + n // 2 * 1000}
        for n, value in enumerate(numbers(0, 20))
    ]
    produce(streams.bootstrap, topic, records)
    subscribed = {"subscribe": topic}
    by_partition = json.dumps({topic: {"0": T0_MS + 9_000, "1": T0_MS + 8_500}})
    for options, found in (
        (subscribed | {"startingOffsets": json.dumps({topic: {"0": 9, "1": -2}})}, 11),
        (subscribed | {"startingTimestamp": str(T0_MS + 7_000)}, 6),
        (subscribed | {"startingOffsetsByTimestamp": by_partition}, 2),
        ({"assign": json.dumps({topic: [1]}), "startingOffsets": "earliest"}, 10),
    ):
        streams.begin_anew()
        streams.run(**options)
        assert len(streams.saw(found)) == found, options


def test_options_decide_how_many_tasks_a_batch_has(streams: Streams, topic: str) -> None:
    fill(streams.bootstrap, topic, numbers(0, 20))
    for options, tasks in (({"minPartitions": "4"}, 4), ({"maxRecordsPerPartition": "3"}, 7)):
        streams.begin_anew()
        streams.run(subscribe=topic, startingOffsets="earliest", **options)
        assert streams.saw(20) == numbers(0, 20)
        assert streams.tasks == {0: tasks}


def test_a_stream_that_is_killed_in_its_first_batch_begins_there_again(
    streams: Streams, topic: str
) -> None:
    query = streams.start(subscribe=topic)
    commit = streams.checkpoint / "commits" / "0"
    wait_for(commit.exists, "a first batch, though there is no record", WITHIN_S)
    query.stop()
    # As a driver leaves it that dies before its first batch is done.
    for leftover in commit.parent.glob("*0*"):
        leftover.unlink()
    fill(streams.bootstrap, topic, numbers(0, 3))
    streams.run(subscribe=topic)
    assert streams.saw(3) == numbers(0, 3)
    assert streams.batches == {0: 0, 1: 3}


def test_a_running_stream_finds_new_partitions(streams: Streams, topic: str) -> None:
    query = streams.start(subscribe=topic, startingOffsets="earliest")
    fill(streams.bootstrap, topic, numbers(0, 5))
    streams.saw(5)
    add_partitions(streams.bootstrap, topic, 3)
    records = [{"value": v, "partition": 1 + n % 2} for n, v in enumerate(numbers(5, 15))]
    produce(streams.bootstrap, topic, records)
    assert streams.saw(15) == numbers(0, 15)
    assert query.isActive


def test_a_running_stream_may_go_on_without_a_topic(streams: Streams, topic: str) -> None:
    left = create_topic(streams.bootstrap)
    options = {"subscribe": f"{topic},{left}", "failOnDataLoss": "false"}
    query = streams.start(startingOffsets="earliest", **options)
    fill(streams.bootstrap, topic, numbers(0, 3))
    fill(streams.bootstrap, left, numbers(3, 6))
    streams.saw(6)
    delete_topic(streams.bootstrap, topic)
    fill(streams.bootstrap, left, numbers(6, 9))
    assert streams.saw(9) == numbers(0, 9)
    assert query.isActive


def test_a_checkpoint_of_another_stream_is_refused(streams: Streams, topic: str) -> None:
    other = create_topic(streams.bootstrap)
    fill(streams.bootstrap, other, numbers(0, 1))
    streams.run(subscribe=other, startingOffsets="earliest")
    said = streams.failure(streams.start({"availableNow": True}, subscribe=topic))
    assert f"the checkpoint belongs to a query that reads {other}-0" in said
    assert "a checkpointLocation of its own" in said

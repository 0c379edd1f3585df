"""spark.readStream.format("ottla"): what a stream reads, and what it leaves behind for others to see."""

from __future__ import annotations

import json
import re

import pytest

from ottla import pipeline
from ottla.pipeline.offsets import without_ids
from tests.pipeline.streams import WITHIN_S, Streams, fill, numbers
from tests.pipeline.topics import add_partitions, committed, delete_before, delete_topic
from tests.support.clients import create_named, create_topic, produce, unique_name
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.compat, pytest.mark.java]


def test_available_now_reads_in_limited_batches_and_leaves_no_lag(streams: Streams) -> None:
    topic, group = create_topic(streams.bootstrap, partitions=2), unique_name("group")
    fill(streams.bootstrap, topic, numbers(0, 100), partitions=2)
    options = {"subscribe": topic, "startingOffsets": "earliest", "kafka.group.id": group}
    query = streams.run(maxOffsetsPerTrigger="40", **options)
    assert streams.saw(100) == numbers(0, 100)
    assert list(streams.batches.values()) == [40, 40, 20]
    assert committed(streams.bootstrap, group) == {(topic, 0): 50, (topic, 1): 50}
    first = query.recentProgress[0]["sources"][0]
    assert without_ids(json.loads(first["endOffset"])) == {topic: {"0": 20, "1": 20}}
    assert json.loads(first["latestOffset"]) == {topic: {"0": 50, "1": 50}}
    lag = pipeline.lag(query)
    assert lag is not None
    assert lag.total == 0


def test_a_stream_goes_on_where_it_stopped_and_finds_new_partitions(streams: Streams) -> None:
    topic = create_topic(streams.bootstrap)
    fill(streams.bootstrap, topic, numbers(0, 10))
    streams.run(subscribe=topic, startingOffsets="earliest")
    add_partitions(streams.bootstrap, topic, 2)
    wait_for(lambda: _produced(streams.bootstrap, topic), "the new partition's leader")
    streams.run(subscribe=topic, startingOffsets="latest")
    assert streams.saw(20) == numbers(0, 10) + numbers(20, 30)


def _produced(bootstrap: str, topic: str) -> bool:
    produce(bootstrap, topic, [{"value": v, "partition": 1} for v in numbers(20, 30)])
    return True


def test_a_checkpoint_in_the_form_of_the_jvm_connector_goes_on(streams: Streams) -> None:
    topic = create_topic(streams.bootstrap, partitions=2)
    fill(streams.bootstrap, topic, numbers(0, 10), partitions=2)
    streams.run(subscribe=topic, startingOffsets="earliest")
    log = streams.checkpoint / "offsets" / "0"
    *head, _ = log.read_text().splitlines()
    # Spark keeps a checksum of the file beside it.
    (log.parent / ".0.crc").unlink()
    written = {topic: {"1": 5, "0": 3}}
    log.write_text("\n".join([*head, json.dumps(written, separators=(",", ":"))]))
    streams.run(subscribe=topic)
    assert streams.saw(12) == sorted([*numbers(0, 10), b"0006", b"0008"])


def test_a_running_stream_comes_to_rest_without_lag(streams: Streams, topic: str) -> None:
    group = unique_name("group")
    query = streams.start(subscribe=topic, **{"kafka.group.id": group})
    wait_for(lambda: committed(streams.bootstrap, group) == {(topic, 0): 0}, "a start", WITHIN_S)
    fill(streams.bootstrap, topic, numbers(0, 5))
    assert streams.saw(5) == numbers(0, 5)
    wait_for(lambda: committed(streams.bootstrap, group) == {(topic, 0): 5}, "no lag", 10)
    # The same query sees records that come later, and topics that come later see the next test.
    fill(streams.bootstrap, topic, numbers(5, 6))
    assert streams.saw(6) == numbers(0, 6)
    wait_for(lambda: getattr(pipeline.lag(query), "total", None) == 0, "lag 0", 20)


def test_a_pattern_finds_topics_that_come_later(streams: Streams) -> None:
    prefix = unique_name("late")
    create_named(streams.bootstrap, f"{prefix}-a")
    streams.start(subscribePattern=f"{prefix}-.", startingOffsets="earliest", groupIdPrefix=prefix)
    fill(streams.bootstrap, f"{prefix}-a", [b"a"])
    streams.saw(1)
    create_named(streams.bootstrap, f"{prefix}-b")
    fill(streams.bootstrap, f"{prefix}-b", [b"b"])
    assert streams.saw(2) == [b"a", b"b"]


def test_a_stream_waits_for_enough_records_but_not_for_ever(streams: Streams, topic: str) -> None:
    fill(streams.bootstrap, topic, numbers(0, 1))
    options = {"minOffsetsPerTrigger": "10", "maxTriggerDelay": "3s"}
    streams.start(subscribe=topic, startingOffsets="earliest", **options)
    streams.saw(1)
    fill(streams.bootstrap, topic, numbers(1, 5))
    fill(streams.bootstrap, topic, numbers(5, 11))
    streams.saw(11)
    fill(streams.bootstrap, topic, numbers(11, 12))
    assert streams.saw(12) == numbers(0, 12)
    assert max(streams.batches.values()) >= 10


@pytest.mark.parametrize("fails", ["true", "false"])
def test_records_lost_to_retention(streams: Streams, topic: str, fails: str) -> None:
    fill(streams.bootstrap, topic, numbers(0, 10))
    options = {"subscribe": topic, "startingOffsets": "earliest", "failOnDataLoss": fails}
    streams.run(maxOffsetsPerTrigger="10", **options)
    fill(streams.bootstrap, topic, numbers(10, 20))
    delete_before(streams.bootstrap, topic, 15)
    query = streams.start({"availableNow": True}, **options)
    if fails == "true":
        said = streams.failure(query)
        assert re.search(r"offsets 10 to 19 of .* its log holds 15 to 19 only", said)
        assert "failOnDataLoss to false" in said
    else:
        assert query.awaitTermination(WITHIN_S)
        assert streams.saw(15) == numbers(0, 10) + numbers(15, 20)


def test_a_topic_that_is_deleted_ends_its_stream(streams: Streams, topic: str) -> None:
    fill(streams.bootstrap, topic, numbers(0, 1))
    query = streams.start(subscribe=topic, startingOffsets="earliest")
    streams.saw(1)
    delete_topic(streams.bootstrap, topic)
    assert f"there is no topic {topic}" in streams.failure(query)


def test_a_checkpoint_of_another_query_is_refused(streams: Streams, topic: str) -> None:
    rates = streams.spark.readStream.format("rate").load().writeStream.format("noop")
    other = rates.option("checkpointLocation", str(streams.checkpoint))
    assert other.trigger(availableNow=True).start().awaitTermination(WITHIN_S)
    query = streams.start({"availableNow": True}, subscribe=topic)
    assert "the checkpoint belongs to another query" in streams.failure(query)

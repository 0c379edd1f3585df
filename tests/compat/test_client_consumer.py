"""ottla's own consumer with partitions of its choice, against the broker under test."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest

from ottla import (
    ApiError,
    AsyncConsumer,
    Consumer,
    ConsumerRecord,
    OffsetAndMetadata,
    OttlaError,
    TopicPartition,
)
from tests.support.broker import OttlaBroker
from tests.support.clients import create_topic, produce, unique_name

pytestmark = pytest.mark.compat

T = TypeVar("T")
TIMEOUT_S = 30


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end, but not for ever."""
    return asyncio.run(asyncio.wait_for(work, TIMEOUT_S))


def filled(bootstrap: str, count: int = 100, partitions: int = 1, **configs: Any) -> str:
    """A topic with so many numbered records in each partition."""
    topic = create_topic(bootstrap, partitions=partitions, **configs)
    records = [
        {"value": b"%d" % n, "partition": p} for p in range(partitions) for n in range(count)
    ]
    produce(bootstrap, topic, records)
    return topic


def read(consumer: Consumer, count: int) -> list[ConsumerRecord]:
    """So many records, or a failure."""
    found: list[ConsumerRecord] = []
    deadline = time.monotonic() + TIMEOUT_S
    while len(found) < count:
        assert time.monotonic() < deadline, f"{len(found)} records of {count}"
        found += consumer.poll(0.5)
    return found


def reader(bootstrap: str, topic: str, **settings: Any) -> Consumer:
    """A consumer of partition 0, from its beginning."""
    settings = {"auto_offset_reset": "earliest", **settings}
    consumer = Consumer(bootstrap_servers=bootstrap, **settings)
    consumer.assign([TopicPartition(topic, 0)])
    return consumer


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_what_others_wrote_is_read(bootstrap: str, topic: str, codec: str) -> None:
    stamp = int(time.time() * 1000) - 5000
    headers = [("a", b"1"), ("a", None)]
    sent = {"value": b"v" * 300, "key": b"k", "headers": headers, "timestamp": stamp}
    produce(bootstrap, topic, [sent] * 40, compression_type=codec)
    with reader(bootstrap, topic) as consumer:
        records = read(consumer, 40)
    assert [record.offset for record in records] == list(range(40))
    first = records[0]
    assert (first.topic, first.partition, first.timestamp) == (topic, 0, stamp)
    assert (first.key, first.value, first.headers) == (b"k", b"v" * 300, tuple(headers))


def test_a_poll_returns_no_more_than_it_may(bootstrap: str) -> None:
    topic = filled(bootstrap, 100, partitions=2)
    with Consumer(
        bootstrap_servers=bootstrap, auto_offset_reset="earliest", max_poll_records=30
    ) as consumer:
        consumer.assign([TopicPartition(topic, n) for n in range(2)])
        sizes, seen = [], []
        while len(seen) < 200:
            records = consumer.poll(5)
            sizes.append(len(records))
            seen += [(record.partition, record.offset) for record in records]
        assert len(consumer.poll(0)) == 0
    assert max(sizes) == 30
    assert sorted(seen) == [(p, n) for p in range(2) for n in range(100)]


def test_positions_move_by_seeking(bootstrap: str) -> None:
    topic = filled(bootstrap)
    partition = TopicPartition(topic, 0)
    with reader(bootstrap, topic, max_poll_records=10) as consumer:
        assert consumer.position(partition) == 0
        assert [record.offset for record in read(consumer, 10)] == list(range(10))
        assert consumer.position(partition) == 10
        consumer.seek(partition, 55)
        assert read(consumer, 1)[0].offset == 55
        consumer.seek_to_end()
        assert consumer.position(partition) == 100
        consumer.seek_to_beginning(partition)
        assert read(consumer, 1)[0].offset == 0
        assert consumer.lag(partition) == 90
        with pytest.raises(OttlaError, match="is not assigned"):
            consumer.seek(TopicPartition(topic, 7), 0)


@pytest.mark.parametrize(("reset", "expected"), [("earliest", 0), ("latest", 100)])
def test_reading_begins_where_the_reset_says(bootstrap: str, reset: str, expected: int) -> None:
    topic = filled(bootstrap)
    with reader(bootstrap, topic, auto_offset_reset=reset) as consumer:
        assert consumer.position(TopicPartition(topic, 0)) == expected


def test_a_reset_by_duration_begins_at_the_records_of_that_time(bootstrap: str) -> None:
    topic = create_topic(bootstrap)
    hour = 3_600_000
    now = int(time.time() * 1000)
    produce(bootstrap, topic, [{"value": b"", "timestamp": now - n * hour} for n in (5, 3, 1)])
    with reader(bootstrap, topic, auto_offset_reset="by_duration:PT4H") as consumer:
        assert consumer.position(TopicPartition(topic, 0)) == 1


def test_without_a_reset_a_lost_position_is_told(bootstrap: str) -> None:
    topic = filled(bootstrap)
    with reader(bootstrap, topic, auto_offset_reset="none", group_id=unique_name("g")) as consumer:
        with pytest.raises(ApiError, match=r"no committed offset, and auto.offset.reset is none"):
            read(consumer, 1)
        consumer.seek(TopicPartition(topic, 0), 1_000_000)
        with pytest.raises(ApiError, match="has no offset 1000000 any more, or not yet"):
            read(consumer, 1)
        consumer.seek(TopicPartition(topic, 0), 99)
        assert read(consumer, 1)[0].offset == 99


def test_a_position_behind_the_end_is_reset(bootstrap: str) -> None:
    topic = filled(bootstrap)
    with reader(bootstrap, topic) as consumer:
        consumer.seek(TopicPartition(topic, 0), 1_000_000)
        assert read(consumer, 1)[0].offset == 0


def test_a_paused_partition_returns_nothing_and_loses_nothing(bootstrap: str) -> None:
    topic = filled(bootstrap, 50, partitions=2)
    one, two = (TopicPartition(topic, n) for n in range(2))
    with Consumer(
        bootstrap_servers=bootstrap, auto_offset_reset="earliest", max_poll_records=10
    ) as consumer:
        consumer.assign([one, two])
        read(consumer, 20)
        consumer.pause(one)
        assert consumer.paused() == {one}
        position = consumer.position(one)
        rest = read(consumer, 50 - consumer.position(two))
        assert {record.partition for record in rest} == {1}
        consumer.resume(one)
        assert [r.offset for r in read(consumer, 50 - position)] == list(range(position, 50))


def test_offsets_are_looked_up(bootstrap: str) -> None:
    topic = create_topic(bootstrap, partitions=2)
    one, two = (TopicPartition(topic, n) for n in range(2))
    now = int(time.time() * 1000)
    produce(
        bootstrap, topic, [{"value": b"", "timestamp": now + n, "partition": 0} for n in (0, 9)]
    )
    with Consumer(bootstrap_servers=bootstrap) as consumer:
        assert consumer.beginning_offsets([one, two]) == {one: 0, two: 0}
        assert consumer.end_offsets([one, two]) == {one: 2, two: 0}
        found = consumer.offsets_for_times({one: now + 5, two: now})
        assert found[one] is not None
        assert (found[one].offset, found[one].timestamp, found[two]) == (1, now + 9, None)
        assert consumer.partitions_for(topic) == [0, 1]
        assert consumer.partitions_for(unique_name("unknown")) == []


def test_values_are_deserialized(bootstrap: str, topic: str) -> None:
    produce(bootstrap, topic, [{"key": b"7", "value": b'{"a": 1}'}, {"value": None}])
    with reader(bootstrap, topic, key_deserializer=int, value_deserializer="json") as consumer:
        assert [(r.key, r.value) for r in read(consumer, 2)] == [(7, {"a": 1}), (None, None)]


def test_only_committed_transactions_are_read_if_so_wished(bootstrap: str, topic: str) -> None:
    from ottla import Producer

    with Producer(bootstrap_servers=bootstrap, transactional_id=unique_name("tx")) as producer:
        producer.init_transactions()
        for n in range(10):
            producer.begin_transaction()
            producer.send(topic, b"%d" % n)
            producer.flush()
            producer.commit_transaction() if n % 3 == 0 else producer.abort_transaction()
        producer.begin_transaction()
        producer.send(topic, b"open")
        producer.flush()
        with reader(bootstrap, topic, isolation_level="read_committed") as consumer:
            assert [r.value for r in read(consumer, 4)] == [b"0", b"3", b"6", b"9"]
            assert consumer.poll(0.3) == []
        with reader(bootstrap, topic) as consumer:
            assert len(read(consumer, 11)) == 11


def test_offsets_are_committed_one_by_one_or_all(bootstrap: str) -> None:
    topic, group = filled(bootstrap), unique_name("group")
    partition = TopicPartition(topic, 0)
    with reader(
        bootstrap, topic, group_id=group, enable_auto_commit=False, max_poll_records=10
    ) as consumer:
        read(consumer, 10)
        consumer.commit()
        assert consumer.committed([partition])[partition] == OffsetAndMetadata(10, "", 0)
        consumer.commit({partition: OffsetAndMetadata(5, "half way")})
        assert consumer.committed([partition])[partition] == OffsetAndMetadata(5, "half way")
        told: list[Any] = []
        consumer.commit_async({partition: 7}, lambda *what: told.append(what))
        while not told:
            consumer.poll(0.05)
        assert told == [({partition: OffsetAndMetadata(7)}, None)]
    with reader(bootstrap, topic, group_id=group) as consumer:
        assert read(consumer, 1)[0].offset == 7


def test_an_iteration_commits_what_was_seen_and_no_more(bootstrap: str) -> None:
    topic, group = filled(bootstrap), unique_name("group")
    partition = TopicPartition(topic, 0)
    with reader(bootstrap, topic, group_id=group) as consumer:
        for record in consumer:
            if record.offset == 41:
                break
        assert consumer.position(partition) == 42
    with reader(bootstrap, topic, group_id=group) as consumer:
        assert consumer.committed([partition])[partition] == OffsetAndMetadata(42, "", 0)
        assert read(consumer, 1)[0].offset == 42


def test_an_asynchronous_iteration_goes_on_as_records_come(bootstrap: str, topic: str) -> None:
    async def story() -> list[bytes]:
        seen = []
        async with AsyncConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as c:
            await c.assign([TopicPartition(topic, 0)])
            await asyncio.to_thread(produce, bootstrap, topic, [b"0"])
            async for record in c:
                seen.append(record.value)
                if len(seen) == 4:
                    return seen
                await asyncio.to_thread(produce, bootstrap, topic, [b"%d" % len(seen)])
        return seen

    assert run(story()) == [b"0", b"1", b"2", b"3"]


def test_the_wrong_order_of_calls_says_what_is_missing(bootstrap: str, topic: str) -> None:
    with Consumer(bootstrap_servers=bootstrap) as consumer:
        with pytest.raises(OttlaError, match="subscribe to topics or assign partitions first"):
            consumer.poll()
        with pytest.raises(OttlaError, match=r"set group.id"):
            consumer.subscribe([topic])
        with pytest.raises(OttlaError, match=r"set group.id"):
            consumer.commit()


def test_reading_goes_on_after_the_broker_restarts(own_broker: Callable[..., OttlaBroker]) -> None:
    broker = own_broker()
    topic = filled(broker.bootstrap)
    with reader(broker.bootstrap, topic, max_poll_records=10) as consumer:
        read(consumer, 10)
        broker.kill()
        broker.start()
        produce(broker.bootstrap, topic, [b"more"])
        assert read(consumer, 91)[-1].value == b"more"

"""ottla's own producer, against the broker under test; what it writes is read by another client."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from itertools import pairwise
from typing import Any, TypeVar

import pytest

import ottla
from ottla import ApiError, AsyncProducer, Delivery, Producer, RecordMetadata
from ottla.protocol.errors import ErrorCode
from tests.support import clients
from tests.support.broker import OttlaBroker
from tests.support.clients import consume, create_topic, unique_name

pytestmark = pytest.mark.compat

T = TypeVar("T")
TIMEOUT_S = 30


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end, but not for ever."""
    return asyncio.run(asyncio.wait_for(work, TIMEOUT_S))


def values(bootstrap: str, topic: str, partition: int = 0, **settings: Any) -> list[bytes | None]:
    return [message.value() for message in consume(bootstrap, topic, partition, **settings)]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_records_come_back(bootstrap: str, topic: str, codec: str) -> None:
    sent = [b"value %d" % n for n in range(2000)]
    with Producer(bootstrap_servers=bootstrap, compression_type=codec) as producer:
        deliveries = [producer.send(topic, value) for value in sent]
    assert [delivery.result(0).offset for delivery in deliveries] == list(range(2000))
    assert values(bootstrap, topic) == sent


def test_keys_headers_and_timestamps_come_back(bootstrap: str, topic: str) -> None:
    stamp = int(time.time() * 1000) - 60_000
    headers = [("h", b"1"), ("h", b""), ("none", None)]
    with Producer(bootstrap_servers=bootstrap) as producer:
        delivery = producer.send(topic, None, b"key", timestamp_ms=stamp, headers=headers)
        assert delivery.result(TIMEOUT_S) == RecordMetadata(topic, 0, 0, stamp)
    [message] = consume(bootstrap, topic)
    assert (message.key(), message.value(), message.timestamp()[1]) == (b"key", None, stamp)
    assert message.headers() == headers


@pytest.mark.parametrize("acks", [0, 1, "all"])
def test_all_acks_are_served(bootstrap: str, topic: str, acks: int | str) -> None:
    with Producer(bootstrap_servers=bootstrap, acks=acks) as producer:
        last = [producer.send(topic, b"v") for _ in range(50)][-1]
        producer.flush()
        assert last.result(0).offset == (-1 if acks == 0 else 49)
    assert len(values(bootstrap, topic)) == 50


def test_a_key_goes_where_other_clients_send_it(bootstrap: str) -> None:
    topic = create_topic(bootstrap, partitions=5)
    keys = [b"key %d" % n for n in range(40)]
    theirs = clients.produce(
        bootstrap, topic, [{"value": b"", "key": key} for key in keys], partitioner="murmur2_random"
    )
    with Producer(bootstrap_servers=bootstrap) as producer:
        ours = [producer.send(topic, b"", key) for key in keys]
    assert [d.result(0).partition for d in ours] == [m.partition() for m in theirs]


def test_records_without_a_key_fill_batches_and_spread(bootstrap: str) -> None:
    topic = create_topic(bootstrap, partitions=4)
    with Producer(bootstrap_servers=bootstrap, batch_size=1000) as producer:
        deliveries = [producer.send(topic, bytes(100)) for _ in range(1000)]
    counts = Counter(delivery.result(0).partition for delivery in deliveries)
    assert set(counts) == {0, 1, 2, 3}
    changes = sum(a.result(0).partition != b.result(0).partition for a, b in pairwise(deliveries))
    assert changes < 1000 / 4, "a partition is kept for a batch of records at least"


def test_a_topic_is_created_by_the_first_record(bootstrap: str) -> None:
    topic = unique_name("created")

    async def send() -> RecordMetadata:
        async with AsyncProducer(bootstrap_servers=bootstrap) as producer:
            assert await producer.partitions_for(topic) == 4
            return await producer.send_and_wait(topic, b"first", partition=2)

    assert run(send())[:3] == (topic, 2, 0)


def test_values_are_serialized(bootstrap: str, topic: str) -> None:
    with Producer(
        bootstrap_servers=bootstrap, key_serializer="string", value_serializer="json"
    ) as producer:
        producer.send(topic, {"amount": 7}, "account")
        producer.send(topic, None, None)
    first, second = consume(bootstrap, topic)
    assert (first.key(), json.loads(first.value() or b"")) == (b"account", {"amount": 7})
    assert (second.key(), second.value()) == (None, None)


def test_callbacks_hear_of_every_record(bootstrap: str, topic: str) -> None:
    told: list[tuple[RecordMetadata | None, Exception | None]] = []
    with Producer(bootstrap_servers=bootstrap, max_request_size=2000) as producer:
        for _ in range(10):
            producer.send(topic, b"v", on_delivery=lambda *what: told.append(what))
    assert sorted(metadata.offset for metadata, _ in told if metadata) == list(range(10))


def test_what_cannot_be_sent_is_refused_at_once(bootstrap: str, topic: str) -> None:
    with Producer(bootstrap_servers=bootstrap, max_request_size=2000) as producer:
        with pytest.raises(ApiError, match=r"exceeds max.request.size=2000"):
            producer.send(topic, bytes(3000))
        with pytest.raises(ApiError, match=r"has no partition 9; its last one is 0"):
            producer.send(topic, b"v", partition=9)
        with pytest.raises(TypeError, match=r'the value .* type str.*value.serializer to "string"'):
            producer.send(topic, "text")
    with pytest.raises(ottla.OttlaError, match="the producer is closed"):
        producer.send(topic, b"late")


def test_a_record_that_the_broker_refuses_harms_no_other(bootstrap: str) -> None:
    topic = create_topic(bootstrap, max_message_bytes=5000)

    async def send() -> list[Delivery]:
        async with AsyncProducer(bootstrap_servers=bootstrap, linger_ms=0) as producer:
            sizes = [100, 8000, 100, 100, 9000, 100]
            return [await producer.send(topic, bytes(size)) for size in sizes]

    outcomes = [delivery.outcome() for delivery in run(send())]
    assert [error.code if isinstance(error, ApiError) else None for _, error in outcomes] == [
        None, ErrorCode.MESSAGE_TOO_LARGE, None, None, ErrorCode.MESSAGE_TOO_LARGE, None,
    ]  # fmt: skip
    assert [len(value or b"") for value in values(bootstrap, topic)] == [100] * 4


def test_an_unknown_topic_is_waited_for_and_then_told(bootstrap: str) -> None:
    with (
        Producer(bootstrap_servers=bootstrap, max_block_ms=300) as producer,
        pytest.raises(ApiError, match="not/a/topic"),
    ):
        producer.send("not/a/topic", b"v")


def test_sending_waits_for_room(bootstrap: str, topic: str) -> None:
    with Producer(bootstrap_servers=bootstrap, buffer_memory=50_000, linger_ms=0) as producer:
        for _ in range(3000):
            producer.send(topic, bytes(100))
            assert producer._core.accumulator.buffered_bytes < 52_000
    assert len(values(bootstrap, topic)) == 3000


def test_several_threads_share_a_producer(bootstrap: str, topic: str) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with Producer(bootstrap_servers=bootstrap) as producer, ThreadPoolExecutor(4) as threads:
        work = [b"%d" % n for n in range(2000)]
        deliveries = list(threads.map(lambda value: producer.send(topic, value), work))
        producer.flush()
    offsets = {d.result(0).offset: value for d, value in zip(deliveries, work, strict=True)}
    assert [offsets[n] for n in range(2000)] == values(bootstrap, topic)


def test_nothing_is_lost_or_doubled_while_the_broker_restarts(
    own_broker: Callable[..., OttlaBroker],
) -> None:
    broker = own_broker()
    topic = create_topic(broker.bootstrap)

    async def send() -> None:
        async with AsyncProducer(
            bootstrap_servers=broker.bootstrap, linger_ms=1, batch_size=500
        ) as producer:
            deliveries = []
            for n in range(3000):
                deliveries.append(await producer.send(topic, b"%d" % n))
                if n == 1000:
                    broker.kill()
                    await asyncio.to_thread(broker.start)
            offsets = [(await delivery).offset for delivery in deliveries]
            assert offsets == list(range(3000))

    run(send())
    assert values(broker.bootstrap, topic) == [b"%d" % n for n in range(3000)]


def test_a_connection_that_is_cut_is_opened_again(bootstrap: str, topic: str) -> None:
    async def send() -> list[int]:
        async with AsyncProducer(bootstrap_servers=bootstrap, linger_ms=0) as producer:
            offsets = [(await producer.send_and_wait(topic, b"a")).offset]
            connection = await producer._core.cluster.connection()
            pending = [await producer.send(topic, b"b%d" % n) for n in range(20)]
            await connection.close()
            return offsets + [(await each).offset for each in pending]

    assert run(send()) == list(range(21))

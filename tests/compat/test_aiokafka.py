"""aiokafka, an asyncio client that speaks older versions of the protocol."""

import asyncio
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import OffsetOutOfRangeError

from tests.support.clients import unique_name

pytestmark = pytest.mark.compat

T = TypeVar("T")
TIMEOUT_S = 20


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end, but not for ever."""
    return asyncio.run(asyncio.wait_for(work, TIMEOUT_S))


async def send_all(bootstrap: str, topic: str, values: list[bytes], **settings: Any) -> list:
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, **settings) as producer:
        futures = [await producer.send(topic, value, partition=0) for value in values]
        return [await future for future in futures]


async def read(bootstrap: str, topic: str, count: int, offset: int = 0, **settings: Any) -> list:
    partition = TopicPartition(topic, 0)
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False, **settings)
    async with consumer:
        consumer.assign([partition])
        consumer.seek(partition, offset)
        return [await consumer.getone() for _ in range(count)]


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
def test_records_come_back(bootstrap: str, topic: str, codec: str | None) -> None:
    values = [b"value %d" % n for n in range(500)]
    sent = run(send_all(bootstrap, topic, values, compression_type=codec))
    assert [metadata.offset for metadata in sent] == list(range(500))
    found = run(read(bootstrap, topic, 500))
    assert [(record.offset, record.value) for record in found] == list(enumerate(values))


@pytest.mark.parametrize("acks", [0, 1, "all"])
def test_all_acks_are_served(bootstrap: str, topic: str, acks: int | str) -> None:
    run(send_all(bootstrap, topic, [b"v"] * 50, acks=acks))
    assert len(run(read(bootstrap, topic, 50))) == 50


def test_keys_headers_and_timestamps_come_back(bootstrap: str, topic: str) -> None:
    stamp = int(time.time() * 1000) - 1000
    headers = [("h", b"1"), ("h", b"")]

    async def send() -> None:
        async with AIOKafkaProducer(bootstrap_servers=bootstrap) as producer:
            await producer.send_and_wait(topic, None, b"k", 0, stamp, headers)

    run(send())
    [record] = run(read(bootstrap, topic, 1))
    assert (record.key, record.value, record.timestamp) == (b"k", None, stamp)
    assert list(record.headers) == headers


def test_an_idempotent_producer_works(bootstrap: str, topic: str) -> None:
    sent = run(send_all(bootstrap, topic, [b"v"] * 200, enable_idempotence=True))
    assert [metadata.offset for metadata in sent] == list(range(200))


def test_reading_committed_works(bootstrap: str, topic: str) -> None:
    run(send_all(bootstrap, topic, [b"v"] * 10))
    found = run(read(bootstrap, topic, 4, offset=6, isolation_level="read_committed"))
    assert [record.offset for record in found] == [6, 7, 8, 9]


def test_ends_and_times_are_found(bootstrap: str, topic: str) -> None:
    async def look() -> tuple[int, int, int, int]:
        partition = TopicPartition(topic, 0)
        async with AIOKafkaConsumer(bootstrap_servers=bootstrap) as consumer:
            begin = (await consumer.beginning_offsets([partition]))[partition]
            end = (await consumer.end_offsets([partition]))[partition]
            found = (await consumer.offsets_for_times({partition: 0}))[partition]
            return begin, end, found.offset, found.timestamp

    run(send_all(bootstrap, topic, [b"v"] * 10))
    begin, end, first, stamp = run(look())
    assert (begin, end, first) == (0, 10, 0)
    assert abs(stamp - time.time() * 1000) < 60_000


def test_an_offset_out_of_range_is_said_to_be(bootstrap: str, topic: str) -> None:
    with pytest.raises(OffsetOutOfRangeError):
        run(read(bootstrap, topic, 1, offset=99, auto_offset_reset="none"))


def test_topics_are_created_described_and_deleted(bootstrap: str) -> None:
    name = unique_name("aio")

    async def administer() -> None:
        client = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
        await client.start()
        try:
            await client.create_topics([NewTopic(name, 2, 1)])
            assert len(await partitions_of(client, name)) == 2
            await client.delete_topics([name])
        finally:
            await client.close()

    run(administer())


async def partitions_of(client: AIOKafkaAdminClient, name: str) -> list[dict[str, Any]]:
    """The partitions of a topic that is just being made."""
    while not (found := (await client.describe_topics([name]))[0]["partitions"]):
        await asyncio.sleep(0.02)
    return found

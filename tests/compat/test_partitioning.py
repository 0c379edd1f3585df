"""Which partition a record goes to: one key, one partition, the same one for every client."""

import asyncio
from collections import Counter

import pytest
from aiokafka import AIOKafkaProducer
from kafka import KafkaProducer
from kafka.partitioner import murmur2

from tests.support.clients import create_topic, produce, producer

pytestmark = pytest.mark.compat

PARTITIONS = 8
KEYS = [b"key-%d" % n for n in range(200)]


@pytest.fixture(scope="module")
def wide(bootstrap: str) -> str:
    """A topic of eight partitions."""
    return create_topic(bootstrap, "wide", PARTITIONS)


def expected(key: bytes) -> int:
    """The partition that Kafka's default partitioner gives this key."""
    return (murmur2(key) & 0x7FFFFFFF) % PARTITIONS


def test_librdkafka_finds_the_partitions_java_finds(bootstrap: str, wide: str) -> None:
    records = [{"key": key, "value": b"v"} for key in KEYS]
    for message in produce(bootstrap, wide, records, partitioner="murmur2_random"):
        assert message.partition() == expected(message.key())


def test_one_key_stays_in_one_partition(bootstrap: str, wide: str) -> None:
    records = [{"key": b"k%d" % (n % 10), "value": b"v"} for n in range(500)]
    homes = Counter((m.key(), m.partition()) for m in produce(bootstrap, wide, records))
    assert len(homes) == 10
    assert set(homes.values()) == {50}


def test_kafka_python_agrees(bootstrap: str, wide: str) -> None:
    with KafkaProducer(bootstrap_servers=bootstrap) as client:
        sent = [(key, client.send(wide, key=key, value=b"v")) for key in KEYS]
        assert all(future.get(10).partition == expected(key) for key, future in sent)


def test_aiokafka_agrees(bootstrap: str, wide: str) -> None:
    async def partitions() -> list[int]:
        async with AIOKafkaProducer(bootstrap_servers=bootstrap) as client:
            sent = [await client.send(wide, key=key, value=b"v") for key in KEYS]
            return [(await future).partition for future in sent]

    assert asyncio.run(partitions()) == [expected(key) for key in KEYS]


def test_records_without_a_key_spread_over_all_partitions(bootstrap: str, wide: str) -> None:
    client = producer(bootstrap, partitioner="consistent_random", sticky_partitioning_linger_ms=0)
    homes: Counter[int] = Counter()
    for _ in range(800):
        client.produce(wide, value=b"v", on_delivery=lambda _, m: homes.update([m.partition()]))
    assert client.flush(20) == 0
    assert set(homes) == set(range(PARTITIONS))

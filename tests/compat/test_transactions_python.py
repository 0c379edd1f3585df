"""Transactions of aiokafka, which speaks the oldest versions, and of kafka-python, which speaks newer ones."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka import TopicPartition as AioTopicPartition
from aiokafka.errors import ProducerFenced
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata

from tests.support.clients import consume, create_topic, unique_name

pytestmark = pytest.mark.compat

T = TypeVar("T")
TIMEOUT_S = 30


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(work, TIMEOUT_S))


def committed(bootstrap: str, topic: str) -> list[bytes]:
    found = consume(bootstrap, topic, isolation_level="read_committed")
    return [message.value() for message in found]


def test_aiokafka_commits_and_aborts(bootstrap: str, topic: str) -> None:
    async def work() -> list[bytes]:
        settings = {"bootstrap_servers": bootstrap, "transactional_id": unique_name("tx")}
        async with AIOKafkaProducer(**settings) as producer:
            for number in range(4):
                async with producer.transaction():
                    await producer.send_and_wait(topic, b"%d" % number, partition=0)
            await producer.begin_transaction()
            await producer.send_and_wait(topic, b"aborted", partition=0)
            await producer.abort_transaction()
            async with producer.transaction():
                await producer.send_and_wait(topic, b"last", partition=0)
        reader = AIOKafkaConsumer(bootstrap_servers=bootstrap, isolation_level="read_committed")
        async with reader:
            partition = AioTopicPartition(topic, 0)
            reader.assign([partition])
            reader.seek(partition, 0)
            return [(await reader.getone()).value for _ in range(5)]

    expected = [b"0", b"1", b"2", b"3", b"last"]
    assert run(work()) == expected
    assert committed(bootstrap, topic) == expected


def test_aiokafka_commits_offsets_with_the_transaction(bootstrap: str, topic: str) -> None:
    group = unique_name("group")

    async def work() -> int | None:
        settings = {"bootstrap_servers": bootstrap, "transactional_id": unique_name("tx")}
        async with AIOKafkaProducer(**settings) as producer:
            partition = AioTopicPartition(topic, 0)
            async with producer.transaction():
                await producer.send_and_wait(topic, b"v", partition=0)
                await producer.send_offsets_to_transaction({partition: 5}, group)
            await producer.begin_transaction()
            await producer.send_offsets_to_transaction({partition: 9}, group)
            await producer.abort_transaction()
        async with AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=group) as reader:
            return await reader.committed(partition)

    assert run(work()) == 5


def test_aiokafka_is_fenced_by_its_successor(bootstrap: str, topic: str) -> None:
    async def work() -> None:
        settings = {"bootstrap_servers": bootstrap, "transactional_id": unique_name("tx")}
        old = AIOKafkaProducer(**settings)
        await old.start()
        await old.begin_transaction()
        await old.send_and_wait(topic, b"old", partition=0)
        async with AIOKafkaProducer(**settings) as new:
            with pytest.raises(ProducerFenced):
                await old.commit_transaction()
            async with new.transaction():
                await new.send_and_wait(topic, b"new", partition=0)
        await old.stop()

    run(work())
    assert committed(bootstrap, topic) == [b"new"]


def kafka_python(bootstrap: str, name: str = "") -> KafkaProducer:
    client = KafkaProducer(bootstrap_servers=bootstrap, transactional_id=name or unique_name("tx"))
    client.init_transactions()
    return client


def test_kafka_python_commits_and_aborts(bootstrap: str, topic: str) -> None:
    with kafka_python(bootstrap) as producer:
        for number in range(6):
            producer.begin_transaction()
            producer.send(topic, b"%d" % number, partition=0).get(TIMEOUT_S)
            (producer.abort_transaction if number % 2 else producer.commit_transaction)()
    assert committed(bootstrap, topic) == [b"0", b"2", b"4"]
    reader = KafkaConsumer(bootstrap_servers=bootstrap, isolation_level="read_committed")
    reader.assign([TopicPartition(topic, 0)])
    reader.seek(TopicPartition(topic, 0), 0)
    found: list[bytes] = []
    for _ in range(50):
        found += [r.value for batch in reader.poll(timeout_ms=200).values() for r in batch]
        if len(found) == 3:
            break
    reader.close()
    assert found == [b"0", b"2", b"4"]


def test_kafka_python_commits_offsets_with_the_transaction(bootstrap: str) -> None:
    topic, group = create_topic(bootstrap), unique_name("group")
    partition = TopicPartition(topic, 0)
    with kafka_python(bootstrap) as producer:
        for offset, outcome in ((3, producer.commit_transaction), (7, producer.abort_transaction)):
            producer.begin_transaction()
            producer.send(topic, b"v", partition=0).get(TIMEOUT_S)
            position = {partition: OffsetAndMetadata(offset, "", -1)}
            producer.send_offsets_to_transaction(position, group)
            outcome()
    reader = KafkaConsumer(bootstrap_servers=bootstrap, group_id=group)
    assert reader.committed(partition) == 3
    reader.close()


def test_kafka_python_is_fenced_by_its_successor(bootstrap: str, topic: str) -> None:
    name = unique_name("tx")
    old = kafka_python(bootstrap, name)
    old.begin_transaction()
    old.send(topic, b"old", partition=0).get(TIMEOUT_S)
    with kafka_python(bootstrap, name) as new:
        with pytest.raises(KafkaError):
            old.commit_transaction()
        new.begin_transaction()
        new.send(topic, b"new", partition=0).get(TIMEOUT_S)
        new.commit_transaction()
    old.close(timeout=1)
    assert committed(bootstrap, topic) == [b"new"]

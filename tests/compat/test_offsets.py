"""Committed offsets as the Python clients commit and read them."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import closing, suppress
from threading import Timer
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka import TopicPartition as AioPartition
from aiokafka.structs import OffsetAndMetadata as AioOffset
from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from kafka import KafkaConsumer
from kafka import TopicPartition as PyPartition
from kafka.structs import OffsetAndMetadata as PyOffset

from tests.support.broker import OttlaBroker
from tests.support.clients import admin, consumer, create_topic, produce, read_to_end, unique_name
from tests.support.disk import segments_are_below
from tests.support.waiting import wait_for
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.group_offsets import commit as raw_commit
from tests.unit.broker.handlers.group_offsets import wait_until_coordinated

pytestmark = pytest.mark.compat

TIMEOUT_S = 30.0


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, TIMEOUT_S))


def committed(bootstrap: str, group: str, topic: str, partition: int = 0) -> int:
    """What another client of the same group reads."""
    client = consumer(bootstrap, group_id=group)
    try:
        [found] = client.committed([TopicPartition(topic, partition)], timeout=TIMEOUT_S)
        return int(found.offset)
    finally:
        client.close()


NONE = -1001  # how librdkafka says that there is no offset


# -------------------------------------------------------------- confluent-kafka


def test_confluent_commits_in_all_its_ways(bootstrap: str, topic: str) -> None:
    group = unique_name("group")
    told: list[tuple[KafkaError | None, list[TopicPartition]]] = []
    produce(bootstrap, topic, [b"v"] * 10)
    client = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "on_commit": lambda error, found: told.append((error, found)),
        }
    )
    client.assign([TopicPartition(topic, 0, 0)])
    messages = read_to_end(client)
    [found] = client.commit(message=messages[2], asynchronous=False)
    assert (found.offset, found.error) == (3, None)
    assert committed(bootstrap, group, topic) == 3
    client.commit(offsets=[TopicPartition(topic, 0, 7, "text")], asynchronous=True)
    wait_for(lambda: client.poll(0.1) is None and told, "an asynchronous commit")
    assert told[-1][0] is None
    assert committed(bootstrap, group, topic) == 7
    client.commit(asynchronous=False)
    assert committed(bootstrap, group, topic) == 10
    client.close()


def test_confluent_reads_metadata_and_absence(bootstrap: str, topic: str) -> None:
    group = unique_name("group")
    client = consumer(bootstrap, group_id=group)
    [found] = client.committed([TopicPartition(topic, 0)], timeout=TIMEOUT_S)
    assert found.offset == NONE
    client.commit(offsets=[TopicPartition(topic, 0, 5, "née")], asynchronous=False)
    [found] = client.committed([TopicPartition(topic, 0)], timeout=TIMEOUT_S)
    assert (found.offset, found.metadata) == (5, "née")
    client.close()


def test_confluent_is_told_what_it_cannot_commit(bootstrap: str, topic: str) -> None:
    client = consumer(bootstrap, group_id=unique_name("group"))
    with pytest.raises(KafkaException) as refused:
        client.commit(offsets=[TopicPartition(topic, 9, 5)], asynchronous=False)
    assert refused.value.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART
    client.close()


def test_a_group_goes_on_where_it_was(bootstrap: str, topic: str) -> None:
    group = unique_name("group")
    settings = {"group_id": group, "auto_offset_reset": "earliest"}
    produce(bootstrap, topic, [b"%d" % n for n in range(10)])
    first = consumer(bootstrap, **settings)
    first.subscribe([topic])
    assert len(read_to_end(first)) == 10
    first.commit(offsets=[TopicPartition(topic, 0, 4)], asynchronous=False)
    first.close()
    second = consumer(bootstrap, **settings)
    second.subscribe([topic])
    assert [message.offset() for message in read_to_end(second)] == list(range(4, 10))
    second.close()


def test_offsets_are_altered_and_listed_by_an_admin(bootstrap: str, topic: str) -> None:
    group, client = unique_name("group"), admin(bootstrap)
    wanted = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, 6)])
    [altered] = client.alter_consumer_group_offsets([wanted]).values()
    altered.result(TIMEOUT_S)
    [listed] = client.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]).values()
    found = listed.result(TIMEOUT_S).topic_partitions
    assert [(each.topic, each.partition, each.offset) for each in found] == [(topic, 0, 6)]


# ---------------------------------------------------------------- kafka-python


def test_kafka_python_commits_sync_and_async(bootstrap: str, topic: str) -> None:
    group, partition = unique_name("group"), PyPartition(topic, 0)
    client = KafkaConsumer(bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False)
    client.assign([partition])
    assert client.committed(partition) is None
    client.commit({partition: PyOffset(5, "née", 0)})
    assert client.committed(partition, metadata=True) == PyOffset(5, "née", 0)
    future = client.commit_async({partition: PyOffset(6, "", -1)})
    wait_for(lambda: client.poll(10) is not None and future.is_done, "an asynchronous commit")
    assert future.succeeded()
    assert committed(bootstrap, group, topic) == 6
    client.close()


# -------------------------------------------------------------------- aiokafka


def test_aiokafka_commits_and_reads(bootstrap: str, topic: str) -> None:
    group, partition = unique_name("group"), AioPartition(topic, 0)
    produce(bootstrap, topic, [b"v"] * 5)

    async def commit() -> None:
        client = AIOKafkaConsumer(
            bootstrap_servers=bootstrap,
            group_id=group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
        )
        async with client:
            client.assign([partition])
            assert await client.committed(partition) is None
            record = await client.getone()
            await client.commit({partition: AioOffset(record.offset + 1, "text")})
            assert await client.committed(partition) == 1
            for _ in range(4):
                await client.getone()
            await client.commit()

    run(commit())
    assert committed(bootstrap, group, topic) == 5


# ----------------------------------------------------------------- survival


def commit_many(client: Consumer, topic: str, rounds: int) -> int:
    """Commit ever higher offsets, one request each; the last that was acknowledged."""
    for offset in range(rounds):
        client.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
    return rounds - 1


def test_acknowledged_offsets_survive_kill_nine(own_broker: Callable[..., OttlaBroker]) -> None:
    broker = own_broker()
    topic, groups = create_topic(broker.bootstrap), [unique_name("group") for _ in range(5)]
    last = {}
    for number, group in enumerate(groups):
        client = consumer(broker.bootstrap, group_id=group)
        last[group] = commit_many(client, topic, 20 + number)
        client.close()
    for _ in range(3):
        broker.kill()
        broker.start()
        found = {group: committed(broker.bootstrap, group, topic) for group in groups}
        assert found == last
    broker.stop()
    broker.start()
    assert {group: committed(broker.bootstrap, group, topic) for group in groups} == last


def test_a_kill_among_commits_loses_none_that_was_acknowledged(
    own_broker: Callable[..., OttlaBroker],
) -> None:
    broker = own_broker()
    topic, group = create_topic(broker.bootstrap), unique_name("group")
    offset = 0
    for _ in range(3):
        with closing(Client(broker.bootstrap)) as client:
            wait_until_coordinated(client, group)
            killer = Timer(0.1, broker.kill)
            killer.start()
            acknowledged = offset
            with suppress(OSError, EOFError):
                while True:
                    offset += 1
                    assert raw_commit(client, group, topic, {0: offset}) == {0: 0}
                    acknowledged = offset
            killer.join()
        broker.start()
        assert acknowledged <= committed(broker.bootstrap, group, topic) <= offset


def test_compaction_keeps_the_last_offsets(own_broker: Callable[..., OttlaBroker]) -> None:
    broker = own_broker(
        {
            "offsets.topic.num.partitions": "1",
            "offsets.topic.segment.bytes": "1048576",
            "log.cleaner.backoff.ms": "50",
            "log.cleaner.min.cleanable.ratio": "0.01",
        }
    )
    topic, group = create_topic(broker.bootstrap, partitions=3), unique_name("group")
    with closing(Client(broker.bootstrap)) as client:
        wait_until_coordinated(client, group)
        for offset in range(1_000):
            raw_commit(client, group, topic, {offset % 2: offset, 2: 7}, metadata="x" * 2_000)
    log = broker.data_dir / "__consumer_offsets-0"
    wait_for(
        lambda: segments_are_below(log, 1_100_000), "the offsets to be compacted", timeout_s=30
    )
    broker.kill()
    broker.start()
    found = [committed(broker.bootstrap, group, topic, index) for index in range(3)]
    assert found == [998, 999, 7]

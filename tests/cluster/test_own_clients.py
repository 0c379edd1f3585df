"""ottla's own clients while brokers die: they find the new leaders and coordinators by themselves."""

import asyncio
from typing import Any

import pytest

from ottla import AsyncConsumer, AsyncProducer, RecordMetadata, TopicPartition
from tests.support.clients import consume, create_topic, unique_name
from tests.support.cluster import Cluster, MakeCluster

pytestmark = [pytest.mark.compat, pytest.mark.java]

TIMEOUT_S = 60
RECORDS = 3000
PARTITIONS = 3


async def write(cluster: Cluster, topic: str, **settings: Any) -> list[RecordMetadata]:
    """Writes numbered records, and kills a leader in the middle of it."""
    async with AsyncProducer({}, bootstrap_servers=cluster.bootstrap, **settings) as producer:
        deliveries = []
        for n in range(RECORDS):
            deliveries.append(await producer.send(topic, b"%d" % n, partition=n % PARTITIONS))
            if n == RECORDS // 3:
                await deliveries[-1]
                leader = await asyncio.to_thread(cluster.leader, topic)
                cluster.brokers[leader].kill()
        return [await delivery for delivery in deliveries]


async def read(cluster: Cluster, topic: str, **settings: Any) -> set[bytes]:
    """Reads all of them as a member of a group, whose coordinator may die as well."""
    seen: set[bytes] = set()
    async with AsyncConsumer(
        {},
        bootstrap_servers=cluster.bootstrap,
        group_id=unique_name("group"),
        auto_offset_reset="earliest",
        auto_commit_interval_ms=100,
        **settings,
    ) as consumer:
        await consumer.subscribe([topic])
        while len(seen) < RECORDS:
            seen.update(record.value for record in await consumer.poll(0.5))
    return seen


async def committed(cluster: Cluster, topic: str, count: int) -> list[bytes]:
    """So many committed values; the last marker may be written a moment after the commit returned."""
    async with AsyncConsumer(
        bootstrap_servers=cluster.bootstrap,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
    ) as consumer:
        await consumer.assign([TopicPartition(topic, 0)])
        values: list[bytes] = []
        while len(values) < count:
            values += [record.value for record in await consumer.poll(0.5)]
        return values


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_producer_and_a_group_go_on_when_a_leader_dies(
    make_cluster: MakeCluster, protocol: str
) -> None:
    cluster = make_cluster()
    topic = create_topic(cluster.bootstrap, partitions=PARTITIONS, replicas=3)

    async def story() -> tuple[list[RecordMetadata], set[bytes]]:
        return await asyncio.gather(
            write(cluster, topic), read(cluster, topic, group_protocol=protocol)
        )

    written, seen = asyncio.run(asyncio.wait_for(story(), TIMEOUT_S))
    assert seen == {b"%d" % n for n in range(RECORDS)}
    assert len(set(written)) == RECORDS
    alive = ",".join(each.bootstrap for each in cluster.brokers.values() if each.running)
    for partition in range(PARTITIONS):
        values = [message.value() for message in consume(alive, topic, partition)]
        assert values == [b"%d" % n for n in range(partition, RECORDS, PARTITIONS)]


def test_transactions_go_on_when_a_leader_dies(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    topic = create_topic(cluster.bootstrap, replicas=3)

    async def story() -> list[bytes]:
        settings = {"transactional_id": unique_name("tx"), "bootstrap_servers": cluster.bootstrap}
        async with AsyncProducer({}, **settings) as producer:
            await producer.init_transactions()
            for n in range(12):
                async with producer.transaction():
                    await producer.send(topic, b"%d" % n)
                if n == 5:
                    leader = await asyncio.to_thread(cluster.leader, topic)
                    cluster.brokers[leader].kill()
            return await committed(cluster, topic, 12)

    values = asyncio.run(asyncio.wait_for(story(), TIMEOUT_S))
    assert values == [b"%d" % n for n in range(12)]

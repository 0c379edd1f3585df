"""Groups and transactions go on when the broker that coordinates them dies."""

import time

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.support.clients import create_topic, unique_name
from tests.support.cluster import Cluster, MakeCluster
from tests.support.group_requests import commit
from tests.support.waiting import wait_for
from tests.support.wire import Wire

pytestmark = [pytest.mark.compat, pytest.mark.java]

RECORDS = 300
COORDINATOR_NOT_AVAILABLE = 15


def coordinator(cluster: Cluster, topic: str, key: str) -> int:
    """The broker that leads a key's partition of a coordinator's topic."""
    from ottla.coordination.routing import partition_for

    return cluster.leader(topic, partition_for(key, len(cluster.partitions(topic))))


def group_consumer(cluster: Cluster, group: str, **settings: object) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": 10_000,
            "log_level": 0,
            **{name.replace("_", "."): value for name, value in settings.items()},
        }
    )


def read(consumer: Consumer, count: int) -> list[bytes]:
    found: list[bytes] = []

    def more() -> bool:
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            found.append(message.value())
        return len(found) >= count

    wait_for(more, f"{count} records, {len(found)} are there", 40)
    return found


def fill(cluster: Cluster, topic: str, count: int = RECORDS) -> list[bytes]:
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "log_level": 0})
    values = [b"%d" % number for number in range(count)]
    for value in values:
        producer.produce(topic, value, partition=0)
    assert producer.flush(20) == 0
    return values


def test_a_group_goes_on_where_it_was(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    topic, group = create_topic(cluster.bootstrap, replicas=3), unique_name("group")
    values = fill(cluster, topic)
    consumer = group_consumer(cluster, group)
    consumer.subscribe([topic])
    assert read(consumer, 100)[:100] == values[:100]
    consumer.commit(offsets=[TopicPartition(topic, 0, 100)], asynchronous=False)
    cluster.brokers[coordinator(cluster, "__consumer_offsets", group)].kill()
    committed = group_consumer(cluster, group).committed([TopicPartition(topic, 0)], timeout=20)
    assert committed[0].offset == 100
    consumer.close()
    again = group_consumer(cluster, group)
    again.subscribe([topic])
    assert read(again, RECORDS - 100) == values[100:]
    again.close()


def test_who_has_too_few_replicas_says_so_at_once(make_cluster: MakeCluster) -> None:
    """As Kafka: a commit is not kept waiting until enough of them are back, and the group lives on meanwhile."""
    cluster = make_cluster()
    topic, group = create_topic(cluster.bootstrap, replicas=3), unique_name("group")
    first = group_consumer(cluster, group)
    first.commit(offsets=[TopicPartition(topic, 0, 1)], asynchronous=False)
    leader = coordinator(cluster, "__consumer_offsets", group)
    others = [number for number in cluster.brokers if number != leader]
    for number in others:
        cluster.brokers[number].kill()
    with Wire(cluster.brokers[leader].bootstrap) as wire:

        def answer() -> int:
            [answered] = wire.ask(commit(group, topic, 5)).topics[0].partitions
            return int(answered.error_code)

        wait_for(lambda: answer() == COORDINATOR_NOT_AVAILABLE, "the replicas to be missed", 20)
        cluster.brokers[others[0]].start()
        wait_for(lambda: answer() == 0, "enough replicas to be there", 20)
    committed = first.committed([TopicPartition(topic, 0)], timeout=20)
    assert committed[0].offset == 5
    first.close()


def test_transactions_do_not_wait_for_anybodys_patience(make_cluster: MakeCluster) -> None:
    """What one fetch commits may cause an append that the same fetch must see: not half a second later."""
    cluster = make_cluster(replica_fetch_wait_max_ms="3000")
    topic = create_topic(cluster.bootstrap, partitions=3, replicas=3)
    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "transactional.id": unique_name("transaction"),
            "log_level": 0,
        }
    )
    producer.init_transactions(20)
    began = time.monotonic()
    for _ in range(10):
        producer.begin_transaction()
        for partition in range(3):
            producer.produce(topic, b"x", partition=partition)
        producer.commit_transaction(20)
    assert time.monotonic() - began < 10, "each of them waited for a long poll"


@pytest.mark.parametrize("moment", ["before the commit", "after the commit"])
def test_a_transaction_is_all_there_or_not_at_all(make_cluster: MakeCluster, moment: str) -> None:
    cluster = make_cluster()
    topic = create_topic(cluster.bootstrap, partitions=3, replicas=3)
    transactional_id = unique_name("transaction")
    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "transactional.id": transactional_id,
            "transaction.timeout.ms": 20_000,
            "log_level": 0,
        }
    )
    producer.init_transactions(20)
    kept: list[bytes] = []
    for number in range(6):
        producer.begin_transaction()
        values = [b"%d-%d" % (number, each) for each in range(9)]
        for each, value in enumerate(values):
            producer.produce(topic, value, partition=each % 3)
        producer.flush(20)
        if number == 3 and moment == "before the commit":
            cluster.brokers[coordinator(cluster, "__transaction_state", transactional_id)].kill()
        if number % 2:
            producer.commit_transaction(30)
            kept += values
        else:
            producer.abort_transaction(30)
        if number == 3 and moment == "after the commit":
            cluster.brokers[coordinator(cluster, "__transaction_state", transactional_id)].kill()
    for broker in cluster.brokers.values():
        if not broker.running:
            broker.start()  # a cluster makes the topic of groups when it has three brokers
    reader = group_consumer(cluster, unique_name("readers"), isolation_level="read_committed")
    reader.subscribe([topic])
    assert sorted(read(reader, len(kept))) == sorted(kept)
    reader.close()

"""Brokers die under load: nothing acknowledged is lost or doubled, and nobody waits long."""

import asyncio
import os
import signal
import time
from collections.abc import Callable

import pytest
from confluent_kafka import Producer

from ottla.client.connection import Connection
from ottla.protocol.apis.create_topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from ottla.protocol.errors import ErrorCode
from tests.cluster.load import Load
from tests.support.clients import create_topic
from tests.support.cluster import Cluster, MakeCluster

pytestmark = [pytest.mark.compat, pytest.mark.java]

LONGEST_GAP_S = 1.0
# replica.fetch.wait.max.ms is 500: a follower that only waits for its held fetch to return takes longer than this.
FIRST_ACK_S = 0.3
SESSION_S = 6


Victim = Callable[[Cluster, str], int]
VICTIMS: dict[str, Victim] = {
    "leader": lambda cluster, topic: cluster.leader(topic),
    "controller": lambda cluster, topic: cluster.controller(),
    "follower": lambda cluster, topic: next(
        each for each in cluster.brokers if each != cluster.leader(topic)
    ),
}


@pytest.mark.alone
@pytest.mark.parametrize("victim", VICTIMS)
def test_kill_nine_holds_nobody_up(make_cluster: MakeCluster, victim: str) -> None:
    cluster = make_cluster()
    topic = create_topic(cluster.bootstrap, partitions=3, replicas=3)
    load = Load(cluster.bootstrap, topic)
    load.run(1)
    number = VICTIMS[victim](cluster, topic)
    died = time.monotonic()
    cluster.brokers[number].kill()
    load.run(2)
    assert load.longest_gap_after(died) < LONGEST_GAP_S
    cluster.brokers[number].start()
    load.run(0.5)
    load.finish()
    cluster.wait_until_in_sync(topic)
    load.check(cluster)


@pytest.mark.alone
def test_the_first_record_of_a_new_topic_does_not_wait_for_fetches_that_are_held(
    make_cluster: MakeCluster,
) -> None:
    """The followers' fetches at the new leader are held when the topic is made, since nothing is written."""
    cluster = make_cluster()
    create_topic(cluster.bootstrap, partitions=6, replicas=3)
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "linger.ms": 0})
    slowest = 0.0
    for _ in range(6):
        topic = create_topic(cluster.bootstrap, partitions=1, replicas=3)
        producer.list_topics(topic, timeout=10)
        began = time.monotonic()
        producer.produce(topic, b"first")
        assert producer.flush(10) == 0
        slowest = max(slowest, time.monotonic() - began)
    assert slowest < FIRST_ACK_S


def test_a_topic_can_be_made_while_a_controller_is_elected(make_cluster: MakeCluster) -> None:
    """It is asked for once, of a broker that takes the dead one for the controller."""
    cluster = make_cluster()
    died = cluster.controller()
    survivor = next(broker for number, broker in cluster.brokers.items() if number != died)
    wanted = CreatableTopic(name="urgent", num_partitions=1, replication_factor=2)

    async def ask() -> CreateTopicsResponse:
        connection = await Connection.open("localhost", survivor.port)
        cluster.brokers[died].kill()
        try:
            return await connection.ask(CreateTopicsRequest(topics=[wanted]), timeout_ms=20_000)
        finally:
            await connection.close()

    [made] = asyncio.run(ask()).topics
    assert (made.error_code, made.error_message) == (ErrorCode.NONE, None)


def test_a_rolling_restart_shows_the_producer_no_error(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    topic = create_topic(cluster.bootstrap, partitions=3, replicas=3)
    load = Load(cluster.bootstrap, topic)
    load.run(0.5)
    for broker in cluster.brokers.values():
        assert broker.stop() == 0
        load.run(0.2)
        broker.start()
        load.run(0.5)
        cluster.wait_until_in_sync(topic)
    load.finish()
    load.check(cluster)


def test_a_leader_that_hangs_is_replaced_and_resumed_it_takes_nothing(
    make_cluster: MakeCluster,
) -> None:
    cluster = make_cluster()
    topic = create_topic(cluster.bootstrap, replicas=3)
    load = Load(cluster.bootstrap, topic)
    load.run(0.5)
    hung = cluster.brokers[cluster.leader(topic)]
    os.kill(hung.pid, signal.SIGSTOP)
    try:
        load.run(SESSION_S + 4)
    finally:
        os.kill(hung.pid, signal.SIGCONT)
    load.finish()
    cluster.wait_until_in_sync(topic)
    load.check(cluster)

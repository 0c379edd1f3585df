"""Brokers die under load: nothing acknowledged is lost or doubled, and nobody waits long."""

import os
import signal
import time
from collections.abc import Callable
from itertools import pairwise

import pytest
from confluent_kafka import KafkaError, Message, Producer

from tests.support.clients import consume, create_topic
from tests.support.cluster import Cluster, MakeCluster

pytestmark = [pytest.mark.compat, pytest.mark.java]

LONGEST_GAP_S = 1.5
SESSION_S = 6


class Load:
    """An idempotent producer with acks=all that notes when it was acknowledged."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.topic = topic
        self.sent = 0
        self.acked: list[bytes] = []
        self.acked_at: list[float] = []
        self.errors: list[str] = []
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "acks": "all",
                "linger.ms": 1,
                "log_level": 0,
            }
        )

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.errors.append(str(error))
            return
        self.acked.append(message.value())
        self.acked_at.append(time.monotonic())

    def run(self, seconds: float) -> None:
        """Send for a while, all the time."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for _ in range(20):
                value = b"%d" % self.sent
                self._producer.produce(self.topic, value, on_delivery=self._delivered)
                self.sent += 1
            self._producer.poll(0.005)

    def finish(self) -> None:
        """Everything that was sent is acknowledged in the end."""
        assert self._producer.flush(30) == 0
        assert not self.errors
        assert len(self.acked) == self.sent

    def check(self, cluster: Cluster) -> None:
        """What is there is what was acknowledged: nothing lost, nothing twice."""
        found = [
            message.value()
            for partition in cluster.partitions(self.topic)
            for message in consume(cluster.bootstrap, self.topic, partition)
        ]
        assert sorted(found) == sorted(self.acked)

    def longest_gap_after(self, moment: float) -> float:
        """The longest time without an acknowledgement around and after a moment."""
        times = [moment, *(at for at in self.acked_at if at >= moment)]
        return max(after - before for before, after in pairwise(times))


Victim = Callable[[Cluster, str], int]
VICTIMS: dict[str, Victim] = {
    "leader": lambda cluster, topic: cluster.leader(topic),
    "controller": lambda cluster, topic: cluster.controller(),
    "follower": lambda cluster, topic: next(
        each for each in cluster.brokers if each != cluster.leader(topic)
    ),
}


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

"""How long nobody is acknowledged when a broker of three dies, hangs or is restarted."""

from __future__ import annotations

import subprocess
import time
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.clients import finish_client, running_client, running_command
from benchmarks.clusters import IDS, Cluster
from benchmarks.contestants import Contestant
from benchmarks.goals import Goal
from benchmarks.results import Measured, Row
from benchmarks.scenarios.cluster import three_brokers
from benchmarks.scenarios.scenario import Part, Scale, Scenario
from benchmarks.scenarios.throughput import RecordsLost
from benchmarks.topics import count_records, delete_topic, place_topic, wait_until_in_sync
from tools.apache_kafka import TOOL_JVM_OPTIONS, java_command

JAVA_PRODUCER = Path(__file__).resolve().parent.parent / "clients" / "Acks.java"
GROUP = "three brokers, longest time without an acknowledgement"
KILL_GOAL = Goal(at_most=0.5)
CROWDED_KILL_GOAL = Goal(at_most=2.0)
HANG_GOAL = Goal(times_at_most=1.0)
CALM_SECONDS = 1.5
BACK_AFTER_ACKS = 250
BACK_WITHIN_SECONDS = 120.0
LOOK_SECONDS = 0.1
# acks=all and exactly once, as producers are by default since Kafka 3.0
PRODUCER = {"acks": "all", "enable.idempotence": "true", "linger.ms": 0}
# A leader that hangs refuses nothing: a client finds the next one only if it asks. librdkafka asks every five minutes,
# and keeps idempotent records for the old leader until they time out.
ASKING_PRODUCER = {
    "acks": "all",
    "linger.ms": 0,
    "topic.metadata.refresh.interval.ms": 250,
    "socket.timeout.ms": 1000,
}


class Roles(NamedTuple):
    """Three brokers, each with another part to play."""

    leader: int
    follower: int
    controller: int


def roles(cluster: Cluster) -> Roles:
    """Lets the controller be a follower: each role can then be disturbed alone."""
    controller = cluster.controller()
    leader, follower = (each for each in IDS if each != controller)
    return Roles(leader, follower, controller)


class Disturbance(Scenario):
    """A steady producer, one topic of three replicas, and something that happens to a broker."""

    part = Part.CLUSTER
    warming_runs = 0
    max_runs = 3
    producer: dict[str, Any] = PRODUCER

    def __init__(self, name: str, title: str, goal: Goal | None) -> None:
        row = Row(name, title, "s", GROUP, higher_is_better=False, goal=goal)
        super().__init__(name, (row,))

    @abstractmethod
    def disturb(self, cluster: Cluster, roles: Roles, topic: str) -> None:
        """Does it, and returns at once or when it is over."""

    def heal(self, cluster: Cluster, roles: Roles) -> None:
        """Makes the cluster whole again."""

    def measure(self, broker: Contestant, scale: Scale) -> Measured:
        """Disturbs the cluster under a steady load, and waits until acknowledgements come again."""
        cluster = three_brokers(broker)
        who = roles(cluster)
        topic = place_topic(cluster.bootstrap, who)
        spec = {
            "bootstrap": cluster.bootstrap,
            "topic": topic,
            "value_size": 100,
            "config": self.producer,
        }
        with self._surrounded(cluster, who):
            result = self._disturbed(cluster, who, spec)
            wait_until_in_sync(cluster.bootstrap, topic)
        held = count_records(cluster.bootstrap, topic)
        if held < result["acked"]:
            raise RecordsLost(f"{topic} holds {held:,} records of {result['acked']:,}")
        delete_topic(cluster.bootstrap, topic)
        return Measured({self.name: result["longest_gap_seconds"]})

    def producing(self, spec: dict[str, Any]) -> AbstractContextManager[subprocess.Popen[str]]:
        """The steady producer: librdkafka's."""
        return running_client("acks", spec)

    def _disturbed(self, cluster: Cluster, who: Roles, spec: dict[str, Any]) -> dict[str, Any]:
        """What the producer went through; the cluster is whole again afterwards."""
        try:
            with self.producing(spec) as client:
                read_line(client)
                time.sleep(CALM_SECONDS)
                self.disturb(cluster, who, spec["topic"])
                wait_until_back(client)
                return finish_client(client)
        finally:
            self.heal(cluster, who)

    @contextmanager
    def _surrounded(self, cluster: Cluster, who: Roles) -> Iterator[None]:
        """What else the brokers have to carry meanwhile: nothing."""
        yield


class Kill(Disturbance):
    """kill -9 of a broker in one role; `crowd` is how many more partitions it leads."""

    def __init__(self, name: str, role: str, crowd: int = 0) -> None:
        title = f"kill -9 of {role if role == 'the controller' else f'a {role}'}"
        if crowd:
            title += f" of {crowd:,} partitions"
        super().__init__(name, title, CROWDED_KILL_GOAL if crowd else KILL_GOAL)
        self._role = role.removeprefix("the ")
        self._crowd = crowd

    def disturb(self, cluster: Cluster, roles: Roles, topic: str) -> None:
        """The process is gone when this returns."""
        cluster.kill(getattr(roles, self._role))

    def heal(self, cluster: Cluster, roles: Roles) -> None:
        """Starts it again."""
        victim = getattr(roles, self._role)
        cluster.kill(victim)  # if it was not killed yet
        cluster.start_one(victim)
        cluster.wait_until_joined()

    @contextmanager
    def _surrounded(self, cluster: Cluster, who: Roles) -> Iterator[None]:
        if not self._crowd:
            yield
            return
        crowd = place_topic(cluster.bootstrap, who, self._crowd)
        try:
            yield
        finally:
            delete_topic(cluster.bootstrap, crowd)


class KillUnderJava(Kill):
    """The same under Kafka's own producer, all of its settings at their defaults."""

    def __init__(self, name: str, role: str) -> None:
        super().__init__(name, role)
        [row] = self.rows
        self.rows = (replace(row, title=f"{row.title}, Java client"),)

    def producing(self, spec: dict[str, Any]) -> AbstractContextManager[subprocess.Popen[str]]:
        """Compiled from its source by the launcher."""
        task = [spec["bootstrap"], spec["topic"], str(spec["value_size"])]
        return running_command(java_command(TOOL_JVM_OPTIONS, str(JAVA_PRODUCER), task))


class Hang(Disturbance):
    """SIGSTOP of a leader: its connections stay open, and nothing comes out of them."""

    producer = ASKING_PRODUCER

    def __init__(self, name: str) -> None:
        super().__init__(name, "SIGSTOP of a leader", HANG_GOAL)

    def disturb(self, cluster: Cluster, roles: Roles, topic: str) -> None:
        """It is silent when this returns."""
        cluster.freeze(roles.leader)

    def heal(self, cluster: Cluster, roles: Roles) -> None:
        """Lets it go on."""
        cluster.thaw(roles.leader)
        cluster.wait_until_joined()


class RollingRestart(Disturbance):
    """All brokers one after the other, each when the one before is in sync again."""

    def __init__(self, name: str) -> None:
        super().__init__(name, "rolling restart", None)

    def disturb(self, cluster: Cluster, roles: Roles, topic: str) -> None:
        """All of them run again when this returns."""
        for broker in IDS:
            cluster.stop_one(broker)
            cluster.start_one(broker)
            cluster.wait_until_joined()
            wait_until_in_sync(cluster.bootstrap, topic)


def read_line(client: subprocess.Popen[str]) -> str:
    assert client.stdout is not None
    line = client.stdout.readline().strip()
    if not line:
        finish_client(client)  # raises with what the client said
    return line


def count_acks(client: subprocess.Popen[str]) -> int:
    assert client.stdin is not None
    client.stdin.write("\n")
    client.stdin.flush()
    return int(read_line(client))


def wait_until_back(client: subprocess.Popen[str]) -> None:
    """Returns when acknowledgements have come for a while since now."""
    wanted = count_acks(client) + BACK_AFTER_ACKS
    deadline = time.monotonic() + BACK_WITHIN_SECONDS
    while count_acks(client) < wanted:
        if time.monotonic() > deadline:
            raise TimeoutError(f"no acknowledgements for {BACK_WITHIN_SECONDS:.0f} s")
        time.sleep(LOOK_SECONDS)

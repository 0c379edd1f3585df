"""The brokers of a scene, and how they crash."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from ottla.client.cluster import TRANSACTION
from ottla.client.cluster import Cluster as Client
from ottla.client.settings import client_settings
from tests.pipeline.kills import held_broker
from tests.support.broker import OttlaBroker
from tests.support.cluster import Cluster

SETTINGS = {
    # All sinks have one coordinator: a crash strikes the group of every job.
    "transaction.state.log.num.partitions": "1",
    # A group that is silent is found out at once.
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
}


class Brokers(Protocol):
    """One broker, or several."""

    count: int

    @property
    def bootstrap(self) -> str:
        """Where clients find them."""

    def crash(self, sink_id: str) -> None:
        """SIGKILL to the coordinator of a sink, and a new start or a fail-over."""


class HeldBroker(OttlaBroker):
    """A broker that can be held at steps of its own."""

    steps = Path()

    def command(self, port: int) -> list[str]:
        """The command line that starts this broker."""
        _, *arguments = super().command(port)
        return [sys.executable, "-P", held_broker.__file__, str(self.steps), *arguments]


class OneBroker:
    """A broker by itself: it is back a second after its crash."""

    count = 1

    def __init__(self, broker: OttlaBroker) -> None:
        self._broker = broker

    @property
    def bootstrap(self) -> str:
        """Where clients find it."""
        return self._broker.bootstrap

    def crash(self, sink_id: str) -> None:
        """Kill it and start it again."""
        self._broker.kill()
        self._broker.start()


class ThreeBrokers:
    """A cluster: when one broker dies the others take over."""

    count = 3

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._dead: int | None = None

    @property
    def bootstrap(self) -> str:
        """Where clients find them."""
        return self._cluster.bootstrap

    def crash(self, sink_id: str) -> None:
        """Kill the coordinator of a sink; the one that was killed before is started first."""
        if self._dead is not None:
            self._cluster.brokers[self._dead].start()
        self._dead = asyncio.run(self._coordinator(sink_id))
        self._cluster.brokers[self._dead].kill()

    async def _coordinator(self, sink_id: str) -> int:
        async with Client(client_settings({"bootstrap.servers": self.bootstrap})) as client:
            return await client.retried(lambda: client.coordinator(sink_id, TRANSACTION))


@contextmanager
def one_broker(directory: Path) -> Iterator[OneBroker]:
    """A broker for one scene."""
    broker = HeldBroker(directory / "broker", SETTINGS)
    broker.steps = steps_of(directory)
    with broker:
        yield OneBroker(broker)


@contextmanager
def three_brokers(directory: Path) -> Iterator[ThreeBrokers]:
    """A cluster for one scene, with a ZooKeeper of its own."""
    from tests.support.zookeeper import ensemble

    replicated = {
        "offsets.topic.replication.factor": "3",
        "default.replication.factor": "3",
        "transaction.state.log.replication.factor": "3",
    }
    with ensemble(directory / "zookeeper") as zookeeper:
        cluster = Cluster(directory, zookeeper.connect, 3)
        for number, plain in list(cluster.brokers.items()):
            settings = plain.settings | SETTINGS | replicated
            cluster.brokers[number] = broker = HeldBroker(plain.data_dir, settings)
            broker.steps = steps_of(directory)
        try:
            cluster.start()
            yield ThreeBrokers(cluster)
        finally:
            cluster.kill()


def steps_of(directory: Path) -> Path:
    """Where the steps of a scene are held."""
    return directory / "steps"

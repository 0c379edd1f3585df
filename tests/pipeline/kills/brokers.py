"""The brokers of a scene, and how they crash."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ottla.client.cluster import TRANSACTION
from ottla.client.cluster import Cluster as Client
from ottla.client.settings import client_settings
from tests.support.broker import OttlaBroker
from tests.support.cluster import Cluster


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
    with OttlaBroker(directory / "broker") as broker:
        yield OneBroker(broker)


@contextmanager
def three_brokers(directory: Path) -> Iterator[ThreeBrokers]:
    """A cluster for one scene, with a ZooKeeper of its own."""
    from tests.support.zookeeper import ensemble

    with ensemble(directory / "zookeeper") as zookeeper:
        settings = {
            "offsets_topic_replication_factor": "3",
            "default_replication_factor": "3",
            "transaction_state_log_replication_factor": "3",
        }
        cluster = Cluster(directory, zookeeper.connect, 3, **settings)
        try:
            cluster.start()
            yield ThreeBrokers(cluster)
        finally:
            cluster.kill()

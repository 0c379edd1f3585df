"""A real cluster on this machine: brokers, each in a process of its own, around a ZooKeeper.

with Cluster() as cluster:
    cluster.brokers[1].kill()
"""

from __future__ import annotations

import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from ottla.base.errors import ApiError
from ottla.client.sync_admin import SyncAdmin
from ottla.client.view import Topic as DescribedTopic
from ottla.node.ensemble import LocalEnsemble
from ottla.testing import topics
from ottla.testing.broker import Broker
from ottla.testing.process import BrokerFailed
from ottla.testing.topics import Topic

_TIMEOUT_S: Final = 20.0
_POLL_S: Final = 0.02


_FACTORS = (
    "default.replication.factor",
    "offsets.topic.replication.factor",
    "transaction.state.log.replication.factor",
)


class Cluster:
    """Brokers by their ids, 1 and up; topics have a copy on each of them, on three at most.

    Needs Java and the jars of ZooKeeper: `ottla.node.zookeeper_jars.ZookeeperMissing` says what to install.
    """

    def __init__(
        self, brokers: int = 3, settings: Mapping[str, object] | None = None, **named: object
    ) -> None:
        directory = Path(tempfile.mkdtemp(prefix="ottla-"))
        self._clean_up = weakref.finalize(self, shutil.rmtree, directory, ignore_errors=True)
        # Nobody cuts the power of a test: ZooKeeper need not wait for the disk.
        self.zookeeper = LocalEnsemble(directory, jvm_options=("-Dzookeeper.forceSync=no",))
        common = {
            "zookeeper.connect": self.zookeeper.connect,
            "zookeeper.session.timeout.ms": "6000",
            **dict.fromkeys(_FACTORS, str(min(brokers, 3))),
            "min.insync.replicas": str(min(max(brokers - 1, 1), 2)),
            **(settings or {}),
        }
        self.brokers = {
            number: Broker({**common, "broker.id": number}, **named)  # type: ignore[arg-type]
            for number in range(1, brokers + 1)
        }

    @property
    def bootstrap_servers(self) -> str:
        """All brokers, as clients take them."""
        return ",".join(broker.bootstrap_servers for broker in self.brokers.values())

    def start(self) -> Self:
        """Start ZooKeeper, then all brokers, and wait until they serve."""
        try:
            self.zookeeper.start()
            for broker in self.brokers.values():
                broker.launch()
            for broker in self.brokers.values():
                broker.wait_until_ready()
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        """End all of it; the data are removed."""
        for broker in self.brokers.values():
            broker.close()
        self.zookeeper.stop()
        self._clean_up()

    def create_topic(
        self,
        name: str | None = None,
        partitions: int = 1,
        replication_factor: int = -1,
        **configs: object,
    ) -> Topic:
        """Make a topic that all brokers know, with settings such as min_insync_replicas=1."""
        made = topics.create_topic(
            self.bootstrap_servers,
            topics.fresh_name() if name is None else name,
            partitions,
            replication_factor,
            configs,
        )
        for broker in self.brokers.values():
            if broker.running:
                self._described(broker.bootstrap_servers, made, lambda described: True)
        return made

    def leader(self, topic: str, partition: int = 0) -> Broker:
        """The broker that leads a partition, once there is one that is alive."""

        def is_led(described: DescribedTopic) -> bool:
            leader = self.brokers.get(described.partitions[partition].leader)
            return leader is not None and leader.running

        described = self._described(self.bootstrap_servers, topic, is_led)
        return self.brokers[described.partitions[partition].leader]

    def _described(
        self, servers: str, topic: str, is_settled: Callable[[DescribedTopic], bool]
    ) -> DescribedTopic:
        """What brokers say of a topic, once they know it: they hear of it one after the other."""
        deadline = time.monotonic() + _TIMEOUT_S
        with SyncAdmin({"bootstrap.servers": servers}) as admin:
            while True:
                found = admin.describe_topics([topic])[topic]
                if not isinstance(found, ApiError) and is_settled(found):
                    return found
                if time.monotonic() > deadline:
                    raise BrokerFailed(f"after {_TIMEOUT_S:g} s {servers} say of {topic}: {found}")
                time.sleep(_POLL_S)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

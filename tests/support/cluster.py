"""Runs a real cluster for tests: brokers as child processes around a ZooKeeper of the session."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from confluent_kafka.admin import AdminClient, PartitionMetadata

from tests.support.broker import OttlaBroker
from tests.support.waiting import wait_for
from tools.probe import broker_count

# A broker that dies is noticed by its connections, not by its session; one that hangs is by this.
SETTINGS = {
    "zookeeper.session.timeout.ms": "6000",
    "min.insync.replicas": "2",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
}


class Cluster:
    """Brokers by their ids, 1 and up."""

    def __init__(
        self,
        directory: Path,
        connect: str,
        count: int,
        source: Path | None = None,
        **settings: str,
    ) -> None:
        named = {name.replace("_", "."): value for name, value in settings.items()}
        self.brokers = {
            number: OttlaBroker(
                directory / f"broker-{number}",
                {
                    **SETTINGS,
                    "zookeeper.connect": connect,
                    "broker.id": str(number),
                    "broker.rack": f"rack-{number}",
                    **named,
                },
                source=source,
            )
            for number in range(1, count + 1)
        }

    @property
    def bootstrap(self) -> str:
        """All brokers that have ever run: clients find one that does."""
        return ",".join(each.bootstrap for each in self.brokers.values() if each.port)

    def start(self) -> None:
        """Start all brokers, one after the other; each knows all of them when this returns."""
        for broker in self.brokers.values():
            broker.start()
        for broker in self.brokers.values():
            wait_for(partial(self._is_complete, broker), "a broker to know all others")

    def _is_complete(self, broker: OttlaBroker) -> bool:
        return broker_count(broker.host, broker.port) == len(self.brokers)

    def kill(self) -> None:
        """End all of it."""
        for broker in self.brokers.values():
            broker.kill()

    def partitions(self, topic: str) -> dict[int, PartitionMetadata]:
        """Who leads a topic's partitions, and who is in sync, as some living broker tells it."""
        alive = ",".join(each.bootstrap for each in self.brokers.values() if each.running)
        found = AdminClient({"bootstrap.servers": alive}).list_topics(topic, timeout=10)
        return dict(found.topics[topic].partitions)

    def leader(self, topic: str, partition: int = 0) -> int:
        """The broker that leads a partition, once there is one."""

        def led() -> int | None:
            found = self.partitions(topic).get(partition)
            return found.leader if found is not None and found.leader > 0 else None

        return wait_for(led, f"a leader of {topic}-{partition}")

    def controller(self) -> int:
        """The broker that is the controller, once there is one."""

        def elected() -> int | None:
            alive = next(each for each in self.brokers.values() if each.running)
            found = AdminClient({"bootstrap.servers": alive.bootstrap}).list_topics(timeout=10)
            running = self.brokers.get(found.controller_id)
            return found.controller_id if running is not None and running.running else None

        return wait_for(elected, "a controller")

    def wait_until_in_sync(self, topic: str, replicas: int = 3, timeout_s: float = 20) -> None:
        """All replicas of all partitions are in sync."""
        wait_for(
            lambda: all(len(each.isrs) == replicas for each in self.partitions(topic).values()),
            f"the replicas of {topic} to be in sync",
            timeout_s,
        )


MakeCluster = Callable[..., Cluster]


@contextmanager
def clusters(directory: Path, connect: str) -> Iterator[MakeCluster]:
    """Makes clusters, each with a chroot of its own, and ends them all."""
    made: list[Cluster] = []

    def make(count: int = 3, source: Path | None = None, **settings: str) -> Cluster:
        number = len(made)
        cluster = Cluster(directory / str(number), f"{connect}/{number}", count, source, **settings)
        made.append(cluster)
        cluster.start()
        return cluster

    try:
        yield make
    finally:
        for cluster in made:
            cluster.kill()

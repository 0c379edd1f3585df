"""Clusters of three brokers: ottla around one ZooKeeper, and Apache Kafka, whose brokers are their own controllers.

And ottla with a broker for each core, which is how one machine is meant to be used.
"""

from __future__ import annotations

import os
import re
import signal
import time
from abc import abstractmethod
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.contestants import SETTINGS, Contestant, Kafka
from benchmarks.processes import memory_mb
from benchmarks.topics import controller_id
from ottla.node.local_cluster import LocalBroker, LocalCluster
from tools.apache_kafka import ApacheKafka, Quorum, free_ports, jars, run_tool
from tools.apache_zookeeper import jars as zookeeper_jars
from tools.probe import NotServing, broker_count

IDS = (1, 2, 3)
JOINED_WITHIN_SECONDS = 90.0
STOP_SECONDS = 15.0
POLL_SECONDS = 0.01
CLUSTER_SETTINGS = {**SETTINGS, "min.insync.replicas": "2"}
# The tools give a lone broker internal topics of one replica; these are Kafka's own defaults.
KAFKA_DEFAULTS = {
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "share.coordinator.state.topic.replication.factor": "3",
    "share.coordinator.state.topic.min.isr": "2",
}


class Cluster(Contestant):
    """Brokers 1 to 3, each of which can be killed, frozen, stopped and started again."""

    ids: tuple[int, ...] = IDS
    replication_factor = len(IDS)

    @property
    @abstractmethod
    def ports(self) -> dict[int, int]:
        """Where each broker serves."""

    @abstractmethod
    def pid_of(self, broker: int) -> int:
        """The process id of one broker."""

    @abstractmethod
    def controller(self) -> int:
        """The broker that is the active controller."""

    @abstractmethod
    def kill(self, broker: int) -> None:
        """SIGKILL, as a crash would."""

    @abstractmethod
    def stop_one(self, broker: int) -> None:
        """Stops one broker cleanly, and returns when it has ended."""

    @abstractmethod
    def start_one(self, broker: int) -> None:
        """Starts one broker again, and returns when it serves."""

    @property
    def pids(self) -> list[int]:
        """The process ids of the brokers, and of nothing else."""
        return [self.pid_of(broker) for broker in self.ids]

    @property
    def bootstrap(self) -> str:
        """All brokers, as clients take them."""
        return ",".join(f"127.0.0.1:{port}" for port in self.ports.values())

    def memory_with_everything_mb(self) -> float:
        """Memory of the brokers and of all else that the cluster needs."""
        return self.memory_mb()

    def freeze(self, broker: int) -> None:
        """SIGSTOP: alive for the kernel, silent for everybody else."""
        os.kill(self.pid_of(broker), signal.SIGSTOP)

    def thaw(self, broker: int) -> None:
        """SIGCONT."""
        os.kill(self.pid_of(broker), signal.SIGCONT)

    def wait_until_joined(self) -> None:
        """Returns when every broker knows all of them."""
        for port in self.ports.values():
            _wait_until_it_knows_all(port, len(self.ids))


class KafkaCluster(Cluster):
    """Three processes in KRaft combined mode, with the heap of Kafka's own start script."""

    name = "kafka"
    deleted_topics = "*/*/*-delete"

    def __init__(self, data_dir: Path) -> None:
        super().__init__(data_dir)
        jars()
        quorum = Quorum(dict(zip(IDS, free_ports(len(IDS)), strict=True)))
        self._brokers = {
            node: ApacheKafka(
                data_dir / f"broker-{node}",
                properties={**CLUSTER_SETTINGS, **KAFKA_DEFAULTS},
                node_id=node,
                quorum=quorum,
            )
            for node in IDS
        }

    @property
    def ports(self) -> dict[int, int]:
        """Where each broker serves."""
        return {node: broker.port for node, broker in self._brokers.items()}

    def pid_of(self, broker: int) -> int:
        """The process id of one JVM."""
        return self._brokers[broker].pid

    def prepare(self) -> None:
        """Formats the storage of all brokers at the same time."""
        with ThreadPoolExecutor() as pool:
            list(pool.map(ApacheKafka.format, self._brokers.values()))

    def launch(self) -> None:
        """Starts all brokers and returns when each knows all."""
        for broker in self._brokers.values():
            broker.launch()
        for broker in self._brokers.values():
            broker.wait_until_serving()
        self.wait_until_joined()

    def stop(self) -> None:
        """Stops all brokers; those that wait for the votes of others are killed."""
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda broker: broker.stop(STOP_SECONDS), self._brokers.values()))

    def controller(self) -> int:
        """The leader of the KRaft quorum, which metadata do not tell."""
        args = ["--bootstrap-server", self.bootstrap, "describe", "--status"]
        said = run_tool("org.apache.kafka.tools.MetadataQuorumCommand", args)
        found = re.search(r"LeaderId:\s*(\d+)", said.stdout)
        if found is None:
            raise RuntimeError(f"the quorum names no leader:\n{said.stdout}{said.stderr}")
        return int(found[1])

    def kill(self, broker: int) -> None:
        """SIGKILL, as a crash would."""
        self._brokers[broker].kill()

    def stop_one(self, broker: int) -> None:
        """Stops one broker cleanly."""
        self._brokers[broker].stop()

    def start_one(self, broker: int) -> None:
        """Starts one broker again."""
        self._brokers[broker].start()


class OttlaCluster(Cluster):
    """What `ottla up --brokers 3` starts: three brokers and one ZooKeeper."""

    name = "ottla"
    settings: Mapping[str, str] = CLUSTER_SETTINGS

    def __init__(self, data_dir: Path) -> None:
        super().__init__(data_dir)
        os.environ.setdefault("ZOOKEEPER_HOME", str(zookeeper_jars()))
        count = len(self.ids)
        self._cluster = LocalCluster(data_dir, count, 1, first_port=0, settings=self.settings)
        for broker, port in zip(self._cluster.brokers, free_ports(count), strict=True):
            broker.port = port  # a broker that comes back must come back there

    @property
    def ports(self) -> dict[int, int]:
        """Where each broker serves."""
        return {broker.number: broker.port for broker in self._cluster.brokers}

    def pid_of(self, broker: int) -> int:
        """The process id of one broker."""
        process = self._broker(broker).process
        if process is None:
            raise RuntimeError(f"broker {broker} is not running")
        return process.pid

    def memory_with_everything_mb(self) -> float:
        """Memory of the brokers and of ZooKeeper."""
        servers = self._cluster.ensemble.servers
        return self.memory_mb() + sum(memory_mb(server.pid) for server in servers)

    def prepare(self) -> None:
        """Nothing: ottla makes what it needs at its first start."""

    def launch(self) -> None:
        """Starts ZooKeeper and all brokers, and returns when each knows all."""
        self._cluster.start(lambda line: None)
        self.wait_until_joined()

    def stop(self) -> None:
        """Stops all brokers, then ZooKeeper."""
        self._cluster.stop(lambda line: None)

    def controller(self) -> int:
        """The controller, as metadata tell it."""
        return controller_id(self.bootstrap)

    def kill(self, broker: int) -> None:
        """SIGKILL, as a crash would."""
        victim = self._broker(broker)
        if victim.process is not None:
            victim.process.kill()
            victim.process.wait()

    def stop_one(self, broker: int) -> None:
        """Stops one broker cleanly."""
        self._broker(broker).stop()

    def start_one(self, broker: int) -> None:
        """Starts one broker again."""
        again = self._broker(broker)
        self._cluster.launch(again)
        again.wait_until_ready()

    def _broker(self, number: int) -> LocalBroker:
        return self._cluster.brokers[number - 1]


class OttlaOnEachCore(OttlaCluster):
    """What `ottla up --brokers N` starts on a machine of N cores, with one replica of everything."""

    ids = tuple(range(1, (os.cpu_count() or 1) + 1))
    replication_factor = 1
    settings: Mapping[str, str] = {
        **SETTINGS,
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
    }


ON_ALL_CORES: dict[str, type[Kafka] | type[OttlaOnEachCore]] = {
    "ottla": OttlaOnEachCore,
    "kafka": Kafka,
}
"""Kafka's one process uses all cores by itself."""

CLUSTERS: dict[str, type[KafkaCluster] | type[OttlaCluster]] = {
    "ottla": OttlaCluster,
    "kafka": KafkaCluster,
}


def _knows(port: int, brokers: int) -> bool:
    try:
        return broker_count("127.0.0.1", port) == brokers
    except OSError:
        return False


def _wait_until_it_knows_all(port: int, brokers: int) -> None:
    deadline = time.monotonic() + JOINED_WITHIN_SECONDS
    while not _knows(port, brokers):
        if time.monotonic() > deadline:
            raise NotServing(
                f"the broker on port {port} does not know all others after "
                f"{JOINED_WITHIN_SECONDS:.0f} s"
            )
        time.sleep(POLL_SECONDS)

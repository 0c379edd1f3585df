"""Three brokers: how fast they replicate and acknowledge, and what they take of the machine."""

from __future__ import annotations

import time

from benchmarks.clients import run_client
from benchmarks.clusters import Cluster
from benchmarks.contestants import Contestant
from benchmarks.goals import Goal
from benchmarks.results import Measured, Row
from benchmarks.scenarios.scenario import Part, Scale, Scenario
from benchmarks.scenarios.throughput import PRODUCE_GOAL, EncodedProduce, Produce
from benchmarks.statistics import percentile
from benchmarks.topics import temporary_topic

SPEED = "three brokers, throughput"
CPU = "three brokers, CPU of all"
LATENCY = "three brokers, latency"
FOOTPRINT = "three brokers, footprint"
ALONE = Goal(times_at_most=0.1)
WITH_ZOOKEEPER = Goal(times_at_most=0.2)
BATCH_BYTES = 900_000
PER_SECOND = 1000
LATENCY_SECONDS = 6.0
SETTLE_SECONDS = 1.0


def three_brokers(contestant: Contestant) -> Cluster:
    """The contestant as the cluster that it is in this part of the comparison."""
    if not isinstance(contestant, Cluster):
        raise TypeError(f"{contestant.name} is not a cluster")
    return contestant


class ReplicatedProduce(Produce):
    """One librdkafka producer as fast as it can, into topics of three replicas."""

    part = Part.CLUSTER

    def __init__(self, acks: str, partitions: int, value_size: int, records: int) -> None:
        name, title = _named(acks, partitions, value_size)
        config = {"acks": acks, "batch.size": 1_000_000, "linger.ms": 5}
        goal = PRODUCE_GOAL if acks == "all" else None
        super().__init__(name, title, records, value_size, config, SPEED, goal, CPU)
        self.partitions = partitions


class ReplicatedEncoded(EncodedProduce):
    """Batches of 900 KB with acks=all, encoded beforehand: the brokers are the limit."""

    part = Part.CLUSTER
    acks = -1

    def __init__(self, partitions: int, value_size: int, records: int) -> None:
        name, title = _named("all", partitions, value_size)
        super().__init__(f"{name}-encoded", title, records, value_size, BATCH_BYTES, SPEED, CPU)
        self.partitions = partitions


def _named(acks: str, partitions: int, value_size: int) -> tuple[str, str]:
    size = "1 KB" if value_size == 1000 else f"{value_size} B"
    plural = "s" if partitions > 1 else ""
    name = f"cluster-{size.replace(' ', '').lower()}-{partitions}-acks-{acks}"
    return name, f"{size} to {partitions} partition{plural}, acks={acks}"


class ReplicatedLatency(Scenario):
    """1,000 records a second with acks=all, to one partition."""

    part = Part.CLUSTER

    def __init__(self, name: str) -> None:
        def row(percent: str, goal: Goal | None = None) -> Row:
            title = f"acknowledgement with acks=all, {percent}"
            return Row(f"{name}-{percent}", title, "ms", LATENCY, higher_is_better=False, goal=goal)

        super().__init__(name, (row("p50"), row("p99", Goal(times_at_most=0.5))))

    def measure(self, broker: Contestant, scale: Scale) -> Measured:
        """Paces a producer."""
        replication_factor = broker.replication_factor
        with temporary_topic(broker.bootstrap, replication_factor=replication_factor) as topic:
            spec = {
                "bootstrap": broker.bootstrap,
                "topic": topic,
                "per_second": PER_SECOND,
                "warm_up": PER_SECOND,
                "records": int(PER_SECOND * scale.seconds(LATENCY_SECONDS)),
                "value_size": 100,
                "acks": "all",
            }
            acks = run_client("paced", spec)["ack_ms"]
        p50, p99 = self.rows
        return Measured({p50.name: percentile(acks, 50), p99.name: percentile(acks, 99)})


def _footprint_row(name: str, title: str, unit: str, goal: Goal | None) -> Row:
    return Row(name, title, unit, FOOTPRINT, higher_is_better=False, goal=goal)


AFTER_THE_CLUSTER_RUN = (
    _footprint_row("cluster-memory-after", "memory after all runs, brokers", "MB", ALONE),
    _footprint_row(
        "cluster-memory-after-all", "memory after all runs, with ZooKeeper", "MB", WITH_ZOOKEEPER
    ),
)


class FreshCluster(Scenario):
    """Start, and sit idle."""

    part = Part.CLUSTER
    fresh_broker = True

    def __init__(self, name: str) -> None:
        rows = (
            _footprint_row("cluster-start-up", "start-up until all know all", "s", None),
            _footprint_row("cluster-memory-idle", "memory, idle, brokers", "MB", ALONE),
            _footprint_row(
                "cluster-memory-idle-all", "memory, idle, with ZooKeeper", "MB", WITH_ZOOKEEPER
            ),
        )
        super().__init__(name, rows)

    def measure(self, broker: Contestant, scale: Scale) -> Measured:
        """Reads the memory."""
        cluster = three_brokers(broker)
        time.sleep(SETTLE_SECONDS)
        names = (row.name for row in self.rows)
        values = cluster.startup_seconds, *memory_rows(cluster)
        return Measured(dict(zip(names, values, strict=True)))


def memory_rows(contestant: Contestant) -> tuple[float, float]:
    """Memory of the brokers, and with all else that the cluster needs."""
    cluster = three_brokers(contestant)
    return cluster.memory_mb(), cluster.memory_with_everything_mb()

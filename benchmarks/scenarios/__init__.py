"""The table of everything that is measured, in the order of the report."""

from __future__ import annotations

from benchmarks.results import Row
from benchmarks.scenarios import cluster, commands, disturbances, spark
from benchmarks.scenarios.cluster import (
    AFTER_THE_CLUSTER_RUN,
    FreshCluster,
    ReplicatedEncoded,
    ReplicatedLatency,
    ReplicatedProduce,
)
from benchmarks.scenarios.commands import ListTopics
from benchmarks.scenarios.coordination import (
    Commits,
    EncodedTransactions,
    GroupUntilStable,
    Transactions,
)
from benchmarks.scenarios.disturbances import Hang, Kill, KillUnderJava, RollingRestart
from benchmarks.scenarios.footprint import AFTER_THE_RUN, FreshBroker
from benchmarks.scenarios.latency import BesideColdReader, BesideCompaction, PacedLatency
from benchmarks.scenarios.python_clients import PythonConsumers, PythonProducers
from benchmarks.scenarios.requests import OneRecordRequests
from benchmarks.scenarios.scenario import CORES, Part, Scenario
from benchmarks.scenarios.spark import ArrivalToOutput, Growth, Throughput
from benchmarks.scenarios.throughput import (
    Consume,
    EncodedProduce,
    ManyPartitions,
    Produce,
)

BIG_BATCHES: dict[str, object] = {"batch.size": 1_000_000, "linger.ms": 5}
LZ4: dict[str, object] = {**BIG_BATCHES, "compression.type": "lz4"}
IDEMPOTENT: dict[str, object] = {**BIG_BATCHES, "acks": "all", "enable.idempotence": "true"}
SMALL_BATCHES: dict[str, object] = {"batch.size": 16_384, "linger.ms": 0}

SCENARIOS: tuple[Scenario, ...] = (
    Produce("produce-100b", "100 B", 3_000_000, 100, BIG_BATCHES),
    Produce("produce-100b-lz4", "100 B, lz4", 3_000_000, 100, LZ4),
    Produce("produce-1kb", "1 KB", 500_000, 1000, BIG_BATCHES),
    Produce("produce-1kb-lz4", "1 KB, lz4", 500_000, 1000, LZ4),
    Produce("produce-idempotent", "100 B, idempotent, acks=all", 3_000_000, 100, IDEMPOTENT),
    Produce("produce-small", "100 B, 16 KB batches, no linger", 1_000_000, 100, SMALL_BATCHES),
    EncodedProduce("encoded-100b", "100 B, 1 MB batches", 6_000_000, 100, 1_000_000),
    EncodedProduce("encoded-1kb", "1 KB, 1 MB batches", 800_000, 1000, 1_000_000),
    EncodedProduce("encoded-small", "100 B, 16 KB batches", 4_000_000, 100, 16_384),
    Consume("consume", "100 B", 3_000_000, 100),
    OneRecordRequests("requests-1", 1),
    OneRecordRequests("requests-50", 50),
    OneRecordRequests("requests-500", 500),
    ManyPartitions("partitions-1", 1, 1_000_000),
    ManyPartitions("partitions-100", 100, 500_000),
    ManyPartitions("partitions-1000", 1000, 200_000),
    GroupUntilStable("group-classic-1", 1, "classic"),
    GroupUntilStable("group-classic-10", 10, "classic"),
    GroupUntilStable("group-classic-100", 100, "classic"),
    GroupUntilStable("group-consumer-1", 1, "consumer"),
    GroupUntilStable("group-consumer-10", 10, "consumer"),
    GroupUntilStable("group-consumer-100", 100, "consumer"),
    Commits("commits-1", 1),
    Commits("commits-50", 50),
    Transactions("transactions-1", 1),
    Transactions("transactions-100", 100),
    EncodedTransactions("transactions-encoded", 1),
    EncodedTransactions("transactions-2-encoded", 2),
    PythonProducers("python-produce", 200_000),
    PythonConsumers("python-poll", "polls of 100 B", 300_000, polls=True),
    PythonConsumers("python-iterate", "iteration over 100 B", 200_000, polls=False),
    ListTopics("command-start"),
    PacedLatency("latency"),
    BesideColdReader("cold-reader"),
    BesideCompaction("compaction"),
    FreshBroker("fresh"),
    OneRecordRequests("requests-50-cores", 50, Part.CORES),
    Commits("commits-50-cores", 50, Part.CORES),
    ReplicatedProduce("1", 1, 100, 2_000_000),
    ReplicatedProduce("all", 1, 100, 2_000_000),
    ReplicatedProduce("1", 6, 100, 2_000_000),
    ReplicatedProduce("all", 6, 100, 2_000_000),
    ReplicatedProduce("1", 1, 1000, 300_000),
    ReplicatedProduce("all", 1, 1000, 300_000),
    ReplicatedProduce("1", 6, 1000, 300_000),
    ReplicatedProduce("all", 6, 1000, 300_000),
    ReplicatedEncoded(1, 100, 4_000_000),
    ReplicatedEncoded(6, 100, 4_000_000),
    ReplicatedEncoded(1, 1000, 400_000),
    ReplicatedEncoded(6, 1000, 400_000),
    ReplicatedLatency("cluster-ack"),
    Kill("gap-kill-leader", "leader"),
    KillUnderJava("gap-kill-leader-java", "leader"),
    Kill("gap-kill-follower", "follower"),
    Kill("gap-kill-controller", "the controller"),
    Kill("gap-kill-leader-of-1000", "leader", crowd=1000),
    Hang("gap-hang"),
    RollingRestart("gap-rolling-restart"),
    FreshCluster("fresh-cluster"),
    Throughput("spark-read-100b", "drain", 2_000_000, 100),
    Throughput("spark-read-1kb", "drain", 500_000, 1000),
    Throughput("spark-copy-100b", "copy", 2_000_000, 100),
    Throughput("spark-copy-1kb", "copy", 500_000, 1000),
    Growth("spark-read-growth", "drain", "read"),
    Growth("spark-copy-growth", "copy", "read and write back"),
    ArrivalToOutput("spark-latency"),
)

GROUPS = (
    "throughput", "growth", "groups and transactions", "broker CPU", "python clients", commands.GROUP,
    "latency", "footprint", CORES, cluster.SPEED, cluster.CPU, cluster.LATENCY, disturbances.GROUP, cluster.FOOTPRINT,
    spark.GROUP,
)  # fmt: skip


def all_rows() -> list[Row]:
    """Every row, ordered by group and within it by scenario."""
    rows = [row for scenario in SCENARIOS for row in scenario.rows]
    rows += (AFTER_THE_RUN, *AFTER_THE_CLUSTER_RUN)
    return sorted(rows, key=lambda row: GROUPS.index(row.group))

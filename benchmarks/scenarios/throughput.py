"""How many records a second go in and come out, and the broker CPU they cost."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from benchmarks.clients import run_client
from benchmarks.contestants import Contestant
from benchmarks.goals import Goal
from benchmarks.processes import evict_from_page_cache
from benchmarks.results import Measured, Row
from benchmarks.scenarios.scenario import CPU_GROUP, Scale, Scenario, broker_cpu, cpu_row
from benchmarks.topics import count_records, create_topic, delete_topic, temporary_topic

PRODUCE_GOAL = Goal(times_at_least=2.0)
REPLICATED_WITHIN_SECONDS = 30.0
FILLED_BATCH_BYTES = 256 * 1024
CONSUME_GOAL = Goal(times_at_least=1.2)
LARGE_VALUE_SIZE = 1000


class RecordsLost(Exception):
    """The broker does not hold as many records as it acknowledged."""


def _check_count(bootstrap: str, topic: str, partitions: int, expected: float) -> None:
    deadline = time.monotonic() + REPLICATED_WITHIN_SECONDS
    while (held := count_records(bootstrap, topic, partitions)) != expected:
        if held < expected and time.monotonic() < deadline:
            time.sleep(0.1)
            continue
        raise RecordsLost(f"{topic} holds {held:,} records, {expected:,.0f} were acknowledged")


def _speed_row(name: str, title: str, value_size: int, group: str, goal: Goal | None) -> Row:
    unit = "MB/s" if value_size >= LARGE_VALUE_SIZE else "k rec/s"
    return Row(name, title, unit, group, goal=goal)


def _speed(records: float, seconds: float, value_size: int) -> float:
    if value_size >= LARGE_VALUE_SIZE:
        return records * value_size / seconds / 1e6
    return records / seconds / 1e3


class Produce(Scenario):
    """One librdkafka producer as fast as it can."""

    partitions = 1

    def __init__(
        self,
        name: str,
        title: str,
        records: int,
        value_size: int,
        config: dict[str, object],
        group: str = "throughput",
        goal: Goal | None = PRODUCE_GOAL,
        cpu_group: str = CPU_GROUP,
    ) -> None:
        title = f"produce {title}"
        speed = _speed_row(name, title, value_size, group, goal)
        rows = (speed, cpu_row(name, title, group=cpu_group))
        super().__init__(name, rows)
        self.records, self.value_size, self.config = records, value_size, config

    def measure(self, broker: Contestant, scale: Scale) -> Measured:
        """Produces into a new topic and checks that all records are in it."""
        replication_factor = broker.replication_factor
        with temporary_topic(
            broker.bootstrap, self.partitions, replication_factor=replication_factor
        ) as topic:
            return self._produce(broker, topic, scale.amount(self.records))

    def _produce(self, broker: Contestant, topic: str, records: int) -> Measured:
        spec = {
            "bootstrap": broker.bootstrap,
            "topic": topic,
            "partitions": self.partitions,
            "records": records,
            "value_size": self.value_size,
            "config": self.config,
        }
        with broker_cpu(broker) as cpu:
            result = run_client("produce", spec)
            # Within the measurement: with acks=1 followers may still be at work.
            _check_count(broker.bootstrap, topic, self.partitions, result["records"])
        speed, cost = self.rows
        values = {
            speed.name: _speed(records, result["seconds"], self.value_size),
            cost.name: cpu.seconds / records * 1e6,
        }
        return Measured(values, {speed.name: result["busy"]})


class ManyPartitions(Produce):
    """The same producer spread over a number of partitions."""

    def __init__(self, name: str, partitions: int, records: int) -> None:
        title = f"100 B to {partitions:,} partition{'s' if partitions > 1 else ''}"
        config: dict[str, object] = {"batch.size": 1_000_000, "linger.ms": 20}
        super().__init__(name, title, records, 100, config, group="growth", goal=None)
        self.partitions = partitions


class EncodedProduce(Scenario):
    """Produce requests encoded beforehand: the client costs nothing, the broker is the limit."""

    partitions = 1
    acks = 1

    def __init__(
        self,
        name: str,
        title: str,
        records: int,
        value_size: int,
        batch_bytes: int,
        group: str = "throughput",
        cpu_group: str = CPU_GROUP,
    ) -> None:
        title = f"produce {title}, encoded beforehand"
        speed = _speed_row(name, title, value_size, group, PRODUCE_GOAL)
        super().__init__(name, (speed, cpu_row(name, title, group=cpu_group)))
        self.records, self.value_size, self.batch_bytes = records, value_size, batch_bytes

    def measure(self, broker: Contestant, scale: Scale) -> Measured:
        """Sends into a new topic and checks that all records are in it."""
        replication_factor = broker.replication_factor
        with temporary_topic(
            broker.bootstrap, self.partitions, replication_factor=replication_factor
        ) as topic:
            spec = {
                "bootstrap": broker.bootstrap,
                "topic": topic,
                "partitions": self.partitions,
                "acks": self.acks,
                "records": scale.amount(self.records),
                "value_size": self.value_size,
                "batch_bytes": self.batch_bytes,
            }
            with broker_cpu(broker) as cpu:
                result = run_client("pipelined", spec)
            _check_count(broker.bootstrap, topic, self.partitions, result["records"])
        speed, cost = self.rows
        values = {
            speed.name: _speed(result["measured"], result["seconds"], self.value_size),
            cost.name: cpu.seconds / result["records"] * 1e6,
        }
        return Measured(values, {speed.name: result["busy"]})


class Consume(Scenario):
    """Reads a partition from the disk, from the page cache, and as bare bytes."""

    def __init__(self, name: str, title: str, records: int, value_size: int) -> None:
        hot = Row(f"{name}-hot", f"consume {title}", "k rec/s", "throughput", goal=CONSUME_GOAL)
        cold = replace(hot, name=f"{name}-cold", title=f"consume {title}, from disk")
        fetch = Row(f"{name}-fetch", "fetch, undecoded", "MB/s", "throughput", goal=CONSUME_GOAL)
        super().__init__(name, (hot, cold, fetch, cpu_row(name, f"consume {title}")))
        self.records, self.value_size = records, value_size
        self._topics: dict[str, str] = {}
        self._filled = 0

    def prepare(self, broker: Contestant, scale: Scale) -> None:
        """Fills a topic with batches encoded beforehand.

        A live producer would make smaller batches where the broker is faster, and those cost the consumer more.
        """
        topic = create_topic(broker.bootstrap)
        spec = {
            "bootstrap": broker.bootstrap,
            "topic": topic,
            "records": scale.amount(self.records),
            "value_size": self.value_size,
            "batch_bytes": FILLED_BATCH_BYTES,
            "partitions": 1,
            "acks": 1,
        }
        self._filled = int(run_client("pipelined", spec)["records"])
        self._topics[broker.name] = topic

    def measure(self, broker: Contestant, scale: Scale) -> Measured:
        """Reads the topic once cold, then twice hot."""
        topic, records = self._topics[broker.name], self._filled
        spec = {"bootstrap": broker.bootstrap, "topic": topic, "records": records}
        evict_from_page_cache(broker.partition_dir(topic))
        cold = run_client("consume", spec)
        with broker_cpu(broker) as cpu:
            hot = run_client("consume", spec)
        fetch = run_client("fetch", spec)
        names = [row.name for row in self.rows]
        speeds = [_records_per_ms(hot), _records_per_ms(cold)]
        speeds += [fetch["bytes"] / fetch["seconds"] / 1e6, cpu.seconds / records * 1e6]
        busy = dict(zip(names, (hot["busy"], cold["busy"], fetch["busy"]), strict=False))
        return Measured(dict(zip(names, speeds, strict=True)), busy)

    def clean_up(self, broker: Contestant) -> None:
        """Removes the topic."""
        delete_topic(broker.bootstrap, self._topics.pop(broker.name))


def _records_per_ms(result: dict[str, Any]) -> float:
    return float(result["records"] / result["seconds"] / 1e3)

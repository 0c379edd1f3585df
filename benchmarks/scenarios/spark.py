"""Spark on both brokers: ottla's source and sink beside Spark's own Kafka connector.

Each is measured with its own broker; Spark's also on ottla, which leaves nothing but the connectors to differ.
"""

from __future__ import annotations

import itertools
import json
import time
from typing import Any, cast

from benchmarks.clients import finish_client, run_client, running_client
from benchmarks.contestants import Contestant
from benchmarks.goals import Goal
from benchmarks.processes import cpu_seconds
from benchmarks.results import Measured, Row
from benchmarks.scenarios.scenario import Part, Scale, Scenario
from benchmarks.spark import SparkKafka, SparkOttla
from benchmarks.statistics import percentile
from benchmarks.topics import create_topic, delete_topic, temporary_topic

GROUP = "Spark, local[2]: ottla's connector and Spark's own"
READ_GOAL = Goal(times_at_least=2.5)
COPY_GOAL = Goal(times_at_least=2.0)
LINEAR_GOAL = Goal(at_most=1.1)
PARTITIONS = 2
WARMING_RUNS = 12
"""Of each session: the one that is measured on two brokers does half of them on each."""
LARGE_VALUE_SIZE = 1000
SIZES = (100_000, 1_000_000, 10_000_000)
PER_SECOND = 50
WARM_BATCHES = 20
WARM_WITHIN_SECONDS = 120.0
LATENCY_SECONDS = 20.0
TASK_SECONDS = 600.0
_numbers = itertools.count(1)


class SparkScenario(Scenario):
    """What scenarios of the Spark part share: the same rows for each one's own broker and for ottla."""

    part = Part.SPARK

    def measure(self, broker: Contestant, scale: Scale) -> Measured:
        """Measures on the connector's own broker, and on ottla if that is another."""
        contestant = cast("SparkOttla | SparkKafka", broker)
        own = self.measure_on(contestant, contestant, scale)
        beside = contestant.on_ottla
        on_ottla = own if beside is broker else self.measure_on(contestant, beside, scale)
        names = [row.name for row in self.rows]
        return Measured(dict(zip(names, [*own, *on_ottla], strict=True)))

    def measure_on(
        self, contestant: SparkOttla | SparkKafka, broker: Contestant, scale: Scale
    ) -> list[float]:
        """One value for each row of one broker."""
        raise NotImplementedError


def on_both(*rows: Row) -> tuple[Row, ...]:
    """The rows, and the same for connectors that share a broker."""
    again = [
        Row(
            f"{row.name}-on-ottla",
            f"{row.title}, both on ottla",
            row.unit,
            row.group,
            row.higher_is_better,
            row.goal,
        )
        for row in rows
    ]
    return (*rows, *again)


def filled_topic(broker: Contestant, records: int, value_size: int) -> str:
    """A topic of keyed records."""
    topic = create_topic(broker.bootstrap, PARTITIONS)
    spec = {
        "bootstrap": broker.bootstrap,
        "topic": topic,
        "partitions": PARTITIONS,
        "records": records,
        "value_size": value_size,
        "keyed": True,
        "config": {"batch.size": 1_000_000, "linger.ms": 5},
    }
    run_client("produce", spec)
    return topic


def brokers_of(broker: Contestant) -> list[Contestant]:
    """The contestant's own broker, and the one of ottla beside it."""
    beside = cast("SparkOttla | SparkKafka", broker).on_ottla
    return [broker] if beside is broker else [broker, beside]


def source(broker: Contestant, topic: str, **more: str) -> dict[str, str]:
    """Options that read a whole topic."""
    servers = {"kafka.bootstrap.servers": broker.bootstrap}
    return {**servers, "subscribe": topic, "startingOffsets": "earliest", **more}


class Throughput(SparkScenario):
    """All records of a topic, read, or read and written back to another."""

    def __init__(self, name: str, work: str, records: int, value_size: int) -> None:
        size = "1 KB" if value_size >= LARGE_VALUE_SIZE else f"{value_size} B"
        title = f"{'read' if work == 'drain' else 'read and write back'} {size}"
        unit = "MB/s" if value_size >= LARGE_VALUE_SIZE else "k rec/s"
        goal = READ_GOAL if work == "drain" else COPY_GOAL
        speed = Row(name, title, unit, GROUP, goal=goal)
        super().__init__(name, on_both(speed, _cpu_row(name, title)))
        self.work, self.records, self.value_size = work, records, value_size
        self._topics: dict[str, str] = {}

    def prepare(self, broker: Contestant, scale: Scale) -> None:
        """Fills a topic on each broker, and lets the JVM compile: one run would not make it warm."""
        for each in brokers_of(broker):
            records = scale.amount(self.records)
            self._topics[each.bootstrap] = filled_topic(each, records, self.value_size)
        for _ in range(0 if scale.quick else WARMING_RUNS // len(brokers_of(broker))):
            self.measure(broker, scale)

    def measure_on(
        self, contestant: SparkOttla | SparkKafka, broker: Contestant, scale: Scale
    ) -> list[float]:
        """Reads all, and writes it if that is what is measured."""
        options = source(broker, self._topics[broker.bootstrap])
        before = cpu_seconds(contestant.spark.pid) + broker.cpu_seconds()
        seconds = run(contestant, broker, self.work, options)
        cpu = cpu_seconds(contestant.spark.pid) + broker.cpu_seconds() - before
        records = scale.amount(self.records)
        if self.value_size >= LARGE_VALUE_SIZE:
            speed = records * self.value_size / seconds / 1e6
        else:
            speed = records / seconds / 1e3
        return [speed, cpu / records * 1e6]

    def clean_up(self, broker: Contestant) -> None:
        """Removes the topics."""
        for each in brokers_of(broker):
            delete_topic(each.bootstrap, self._topics.pop(each.bootstrap))


def _cpu_row(name: str, title: str) -> Row:
    """What the work costs Spark, its Python workers and the broker together, however busy the machine is."""
    unit = "CPU-s per M records"
    return Row(f"{name}-cpu", f"{title}, all processes", unit, GROUP, higher_is_better=False)


def run(
    contestant: SparkOttla | SparkKafka, broker: Contestant, work: str, options: dict[str, str]
) -> float:
    """Seconds that Spark needs for some work."""
    if work == "drain":
        answer = contestant.spark.ask("drain", TASK_SECONDS, options=options)
    else:
        with temporary_topic(broker.bootstrap, PARTITIONS) as target:
            sink = {"kafka.bootstrap.servers": broker.bootstrap, "topic": target}
            answer = contestant.spark.ask("copy", TASK_SECONDS, options=options, sink=sink)
    return float(answer["seconds"])


class Growth(SparkScenario):
    """The same work on more and more of one topic: what a record costs must not depend on how many there are."""

    max_runs = 3

    def __init__(self, name: str, work: str, title: str) -> None:
        sizes = [
            Row(f"{name}-{size // 1000}k", f"{title} {size / 1e6:g} M of 100 B", "s", GROUP, False)
            for size in SIZES
        ]
        last = f"{title}: how much dearer a record is with ten times as many, at most"
        linear = Row(f"{name}-linear", last, "times", GROUP, False, LINEAR_GOAL)
        super().__init__(name, on_both(*sizes, linear))
        self.work = work
        self._topics: dict[str, str] = {}

    def prepare(self, broker: Contestant, scale: Scale) -> None:
        """Fills the largest topic on each broker."""
        for each in brokers_of(broker):
            self._topics[each.bootstrap] = filled_topic(each, scale.amount(SIZES[-1]), 100)

    def measure_on(
        self, contestant: SparkOttla | SparkKafka, broker: Contestant, scale: Scale
    ) -> list[float]:
        """The seconds for each size, and how much steeper than straight they grow."""
        topic = self._topics[broker.bootstrap]
        seconds = []
        for size in SIZES:
            end = scale.amount(size) // PARTITIONS
            ends = {topic: {str(partition): end for partition in range(PARTITIONS)}}
            options = source(broker, topic, endingOffsets=json.dumps(ends))
            seconds.append(run(contestant, broker, self.work, options))
        return [*seconds, steepest(seconds)]

    def clean_up(self, broker: Contestant) -> None:
        """Removes the topics."""
        for each in brokers_of(broker):
            delete_topic(each.bootstrap, self._topics.pop(each.bootstrap))


def steepest(seconds: list[float]) -> float:
    """How much dearer a record is at most when there are ten times as many; 1 is a straight line from nothing."""
    return max(more / less / 10 for less, more in itertools.pairwise(seconds))


class ArrivalToOutput(SparkScenario):
    """From a record's arrival to the output of its batch, while batches follow one another as fast as they can."""

    warming_runs = 0
    max_runs = 3

    def __init__(self, name: str) -> None:
        rows = [
            Row(f"{name}-p{percent}", f"arrival to output, p{percent}", "ms", GROUP, False)
            for percent in (50, 99)
        ]
        super().__init__(name, on_both(*rows))

    def measure_on(
        self, contestant: SparkOttla | SparkKafka, broker: Contestant, scale: Scale
    ) -> list[float]:
        """Lets a query copy from topic to topic while one client writes and another reads."""
        with (
            temporary_topic(broker.bootstrap) as topic,
            temporary_topic(broker.bootstrap) as target,
        ):
            checkpoint = contestant.data_dir / f"checkpoint-{next(_numbers)}"
            sink = {
                "kafka.bootstrap.servers": broker.bootstrap,
                "topic": target,
                "checkpointLocation": str(checkpoint),
            }
            contestant.spark.ask("start", options=source(broker, topic), sink=sink)
            try:
                before = warmed(contestant, broker, topic)
                ages = paced_ages(broker, topic, target, before, scale)
            finally:
                contestant.spark.ask("stop")
        return [percentile(ages, 50), percentile(ages, 99)]


def pace(broker: Contestant, topic: str, seconds: float) -> dict[str, Any]:
    """The task of a client that writes for some seconds."""
    return {
        "bootstrap": broker.bootstrap,
        "topic": topic,
        "per_second": PER_SECOND,
        "warm_up": 0,
        "records": int(PER_SECOND * seconds),
        "value_size": 100,
        "acks": "all",
    }


def warmed(contestant: SparkOttla | SparkKafka, broker: Contestant, topic: str) -> int:
    """How many records were written until the query has done its first batches, which are slow."""
    written, deadline = 0, time.monotonic() + WARM_WITHIN_SECONDS
    while time.monotonic() < deadline:
        run_client("paced", pace(broker, topic, 1.0))
        written += PER_SECOND
        last = contestant.spark.ask("progress")["progress"]
        if last is not None and last["batchId"] >= WARM_BATCHES:
            return written
    raise TimeoutError(
        f"the query did not do {WARM_BATCHES} batches in {WARM_WITHIN_SECONDS:.0f} s"
    )


def paced_ages(
    broker: Contestant, topic: str, target: str, before: int, scale: Scale
) -> list[float]:
    """How old each record is, in ms, when a read_committed reader finds it in the target."""
    spec = pace(broker, topic, scale.seconds(LATENCY_SECONDS))
    with running_client("follow", {**spec, "topic": target, "warm_up": before}) as reader:
        assert reader.stdout is not None
        reader.stdout.readline()
        run_client("paced", spec)
        ages: list[float] = finish_client(reader)["end_to_end_ms"]
    return ages

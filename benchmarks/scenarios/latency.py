"""How long an acknowledgement and a delivery take, alone and beside heavy work."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from benchmarks.clients import finish_client, run_client, running_client
from benchmarks.contestants import Contestant
from benchmarks.goals import Goal
from benchmarks.results import Measured, Row
from benchmarks.scenarios.scenario import Scale, Scenario
from benchmarks.statistics import percentile
from benchmarks.topics import create_topic, delete_topic, set_topic_config, temporary_topic

PER_SECOND = 1000
SECONDS = 6.0
BESIDE_SECONDS = 6.0
COMPACTED_WITHIN_SECONDS = 60.0
P99_GOAL = Goal(times_at_most=0.5)
BESIDE_GOAL = Goal(at_most=20.0)


def _row(name: str, title: str, goal: Goal | None = None) -> Row:
    return Row(name, title, "ms", "latency", higher_is_better=False, goal=goal)


def _pace(broker: Contestant, topic: str, seconds: float) -> dict[str, Any]:
    return {
        "bootstrap": broker.bootstrap,
        "topic": topic,
        "per_second": PER_SECOND,
        "warm_up": PER_SECOND,
        "records": int(PER_SECOND * seconds),
        "value_size": 100,
        "acks": 1,
    }


def _ack_p99_ms(broker: Contestant, seconds: float) -> float:
    with temporary_topic(broker.bootstrap) as topic:
        result = run_client("paced", _pace(broker, topic, seconds))
    return percentile(result["ack_ms"], 99)


class PacedLatency(Scenario):
    """1,000 records a second through the broker to a reader that follows."""

    def __init__(self, name: str) -> None:
        rows = (
            _row("ack-p50", "acknowledgement, p50"),
            _row("ack-p99", "acknowledgement, p99", P99_GOAL),
            _row("end-to-end-p50", "end to end, p50"),
            _row("end-to-end-p99", "end to end, p99", P99_GOAL),
        )
        super().__init__(name, rows)

    def measure(self, broker: Contestant, scale: Scale) -> Measured:
        """Runs the reader and the producer at the same time."""
        with temporary_topic(broker.bootstrap) as topic:
            spec = _pace(broker, topic, scale.seconds(SECONDS))
            with running_client("follow", spec) as reader:
                assert reader.stdout is not None
                reader.stdout.readline()
                acks = run_client("paced", spec)["ack_ms"]
                ages = finish_client(reader)["end_to_end_ms"]
        names = [row.name for row in self.rows]
        return Measured(dict(zip(names, _p50_and_p99(acks) + _p50_and_p99(ages), strict=True)))


def _p50_and_p99(values: Sequence[float]) -> list[float]:
    return [percentile(values, 50), percentile(values, 99)]


def _filled_topic(broker: Contestant, megabytes: int, config: dict[str, str], keyed: bool) -> str:
    topic = create_topic(broker.bootstrap, config=config)
    spec = {
        "bootstrap": broker.bootstrap,
        "topic": topic,
        "partitions": 1,
        "records": megabytes * 1000,
        "value_size": 1000,
        "keyed": keyed,
        "config": {"batch.size": 1_000_000, "linger.ms": 5},
    }
    run_client("produce", spec)
    return topic


class BesideColdReader(Scenario):
    """What a reader of old data on disk adds to the acknowledgements of others."""

    max_runs = 3
    megabytes = 2000

    def __init__(self, name: str) -> None:
        title = "added to ack p99 by a cold reader"
        super().__init__(name, (_row(name, title, BESIDE_GOAL),))
        self._topics: dict[str, str] = {}

    def prepare(self, broker: Contestant, scale: Scale) -> None:
        """Writes the old data."""
        megabytes = scale.amount(self.megabytes)
        self._topics[broker.name] = _filled_topic(broker, megabytes, {}, keyed=False)

    def measure(self, broker: Contestant, scale: Scale) -> Measured:
        """Measures the producer alone, then while the reader runs over and over."""
        topic, seconds = self._topics[broker.name], scale.seconds(BESIDE_SECONDS)
        alone = _ack_p99_ms(broker, seconds / 2)
        records = scale.amount(self.megabytes) * 1000
        with _cold_reader(broker, topic, records):
            beside = _ack_p99_ms(broker, seconds)
        return Measured({self.name: max(beside - alone, 0.0)})

    def clean_up(self, broker: Contestant) -> None:
        """Removes the old data."""
        delete_topic(broker.bootstrap, self._topics.pop(broker.name))


@contextmanager
def _cold_reader(broker: Contestant, topic: str, records: int) -> Iterator[None]:
    """Reads a topic from the disk, over and over, as long as the context lasts."""
    spec = {
        "bootstrap": broker.bootstrap,
        "topic": topic,
        "records": records,
        "directory": str(broker.partition_dir(topic)),
    }
    with running_client("reread", spec) as reader:
        yield
        if reader.poll() is not None:
            finish_client(reader)  # raises with what the reader said


class BesideCompaction(Scenario):
    """What the compaction of a partition adds to the acknowledgements of others."""

    max_runs = 3
    megabytes = 1000
    shrinks_to = 0.5

    def __init__(self, name: str) -> None:
        title = "added to ack p99 by a compaction"
        super().__init__(name, (_row(name, title, BESIDE_GOAL),))

    def measure(self, broker: Contestant, scale: Scale) -> Measured:
        """Fills a topic with few keys, measures alone, turns compaction on, measures again."""
        seconds = scale.seconds(BESIDE_SECONDS)
        config = {"segment.bytes": str(16 * 1024 * 1024)}
        topic = _filled_topic(broker, scale.amount(self.megabytes), config, keyed=True)
        try:
            alone = _ack_p99_ms(broker, seconds / 2)
            before = _size_bytes(broker.partition_dir(topic))
            compact = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}
            set_topic_config(broker.bootstrap, topic, compact)
            beside = _ack_p99_ms(broker, seconds)
            self._wait_until_compacted(broker.partition_dir(topic), before)
        finally:
            delete_topic(broker.bootstrap, topic)
        return Measured({self.name: max(beside - alone, 0.0)})

    def _wait_until_compacted(self, directory: Path, before_bytes: int) -> None:
        """Makes sure that there was a compaction to be beside of."""
        deadline = time.monotonic() + COMPACTED_WITHIN_SECONDS
        while _size_bytes(directory) > before_bytes * self.shrinks_to:
            if time.monotonic() > deadline:
                raise TimeoutError(f"no compaction within {COMPACTED_WITHIN_SECONDS:.0f} s")
            time.sleep(0.1)


def _size_bytes(directory: Path) -> int:
    """Bytes in the segments of a partition, those waiting for deletion left out."""
    total = 0
    for path in directory.glob("*.log"):
        with suppress(FileNotFoundError):
            total += path.stat().st_size
    return total

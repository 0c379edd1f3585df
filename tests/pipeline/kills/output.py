"""What a job must have written: each row of its input once, in batches that its checkpoint tells."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import IsolationLevel
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from ottla.base.ids import TopicPartition
from tests.pipeline.kills.application import COUNT, EVEN, FRAMES, ODD, Job
from tests.support.clients import consume

PARTITIONS = 2


class Given(NamedTuple):
    """A row of the input, and where it lies."""

    value: str
    partition: int
    offset: int


def topics(job: Job) -> list[str]:
    """The topics that a job writes to."""
    return [job.sink + EVEN, job.sink + ODD] if job.kind == FRAMES else [job.sink]


def partitions(jobs: Iterable[Job]) -> list[TopicPartition]:
    """The partitions that jobs write to."""
    return [
        TopicPartition(name, n) for job in jobs for name in topics(job) for n in range(PARTITIONS)
    ]


def planned(checkpoint: Path) -> dict[int, dict[str, int]]:
    """How far each batch of a stream reads in the partitions of its one source."""
    found = {}
    for path in (checkpoint / "offsets").iterdir():
        if path.name.isdigit():
            ends = json.loads(path.read_text().splitlines()[2])
            found[int(path.name)] = next(iter(ends.values()))
    return dict(sorted(found.items()))


def batches(given: Iterable[Given], plan: Mapping[int, Mapping[str, int]]) -> dict[str, int]:
    """The batch of each row."""
    return {
        row.value: next(n for n, ends in plan.items() if ends[str(row.partition)] > row.offset)
        for row in given
    }


def expected(job: Job, batch_of: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """The rows that should be in each topic, each once, with their batches."""
    if job.kind == COUNT:
        return {job.sink: _counts(batch_of)}
    if job.kind == FRAMES:
        odd = {row: batch for row, batch in batch_of.items() if int(row.rpartition("-")[2]) % 2}
        even = {row: batch for row, batch in batch_of.items() if row not in odd}
        return {job.sink + EVEN: even, job.sink + ODD: odd}
    return {job.sink: dict(batch_of)}


def _counts(batch_of: Mapping[str, int]) -> dict[str, int]:
    """How far a batch has counted each group that it has rows of."""
    found: dict[str, int] = {}
    total: Counter[str] = Counter()
    for batch in sorted(set(batch_of.values())):
        new = Counter(row[0] for row, which in batch_of.items() if which == batch)
        total += new
        found |= {f"{group}={total[group]}": batch for group in new}
    return found


def written(bootstrap: str, partition: TopicPartition) -> dict[int, str]:
    """What counts in a partition, as librdkafka reads it."""
    found = consume(bootstrap, *partition, isolation_level="read_committed")
    return {message.offset(): message.value().decode() for message in found}


def differences(should: Mapping[str, int], found: Iterable[str]) -> list[tuple[str, int]]:
    """Rows that are there more or less often than once, and how often."""
    counted = Counter(found)
    rows = sorted(should.keys() | counted.keys())
    return [(row, counted[row]) for row in rows if counted[row] != (row in should)]


def decided_ends(bootstrap: str, which: list[TopicPartition]) -> dict[TopicPartition, int] | None:
    """The ends of partitions in which nothing is open; None while something is."""
    client = AdminClient({"bootstrap.servers": bootstrap})
    ends = []
    for level in (IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED):
        asked = {KafkaPartition(*each): OffsetSpec.latest() for each in which}
        found = client.list_offsets(asked, isolation_level=level)
        ends.append(
            {TopicPartition(p.topic, p.partition): f.result(10).offset for p, f in found.items()}
        )
    return ends[0] if ends[0] == ends[1] else None

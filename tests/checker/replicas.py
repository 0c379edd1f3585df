"""Pure: X5 and X6: all replicas of a log hold the same, as their files show, and as each shows it when it leads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tests.checker.anomaly import Anomaly
from tests.checker.evidence import Evidence
from tests.checker.history import Action, Isolation, Operation, of_action

ROTATION = "rotation"
"""The fact that names a whole read of the last phase: which replicas led at that time."""


class Batch(NamedTuple):
    """A batch in a file; the checksum covers what the offsets and the epoch do not."""

    base_offset: int
    last_offset: int
    leader_epoch: int
    crc: int
    producer_id: int = -1
    producer_epoch: int = -1


class Replica(NamedTuple):
    """What one broker's files hold of a log."""

    node: int
    high_watermark: int
    batches: Sequence[Batch]
    epochs: Sequence[tuple[int, int]]

    @classmethod
    def of(cls, operation: Operation) -> Replica:
        """As it stands in a history."""
        facts = operation.facts
        batches = [Batch(*each) for each in facts["batches"]]
        epochs = [(epoch, start) for epoch, start in facts["epochs"]]
        return cls(operation.node, facts["high_watermark"], batches, epochs)

    def facts(self) -> dict[str, Any]:
        """As it is written into a history."""
        return {
            "high_watermark": self.high_watermark,
            "batches": self.batches,
            "epochs": self.epochs,
        }

    def batch_at(self, offset: int) -> Batch | None:
        """The batch that holds an offset, if there is one."""
        return next((b for b in self.batches if b.base_offset <= offset <= b.last_offset), None)

    def committed(self, start: int, end: int) -> list[Batch]:
        """The batches between two offsets."""
        return [b for b in self.batches if b.base_offset >= start and b.last_offset < end]

    def committed_epochs(self, start: int, end: int) -> list[tuple[int, int]]:
        """The leader epochs that begin between two offsets."""
        return [(epoch, offset) for epoch, offset in self.epochs if start <= offset < end]


def replicas_of(evidence: Evidence) -> dict[str, list[Replica]]:
    """The replicas of each log, as far as somebody has looked at their files."""
    found: dict[str, list[Replica]] = defaultdict(list)
    for operation in of_action(evidence.operations, Action.REPLICA):
        for key in operation.keys:
            found[key].append(Replica.of(operation))
    return found


def replica_identity(evidence: Evidence) -> Iterator[Anomaly]:
    """X5: up to where all of them know it to be committed, the replicas of a log are the same, batch by batch."""
    for key, found in replicas_of(evidence).items():
        end = min(each.high_watermark for each in found)
        start = max(each.batches[0].base_offset if each.batches else 0 for each in found)
        for other in found[1:]:
            yield from _differences(key, found[0], other, start, end)
        yield from _short(evidence, key, end)


def _differences(key: str, one: Replica, other: Replica, start: int, end: int) -> Iterator[Anomaly]:
    mine, theirs = one.committed(start, end), other.committed(start, end)
    said = f"{key} on brokers {one.node} and {other.node}, below {end}"
    if mine != theirs:
        differing = (pair for pair in zip(mine, theirs, strict=False) if pair[0] != pair[1])
        first = next(differing, f"{len(mine)} and {len(theirs)} batches")
        yield Anomaly("replica-divergence", f"{said}: {first}")
    elif (epochs := one.committed_epochs(start, end)) != other.committed_epochs(start, end):
        message = f"{said}: epochs {epochs} and {other.committed_epochs(start, end)}"
        yield Anomaly("replica-epochs", message)


def _short(evidence: Evidence, key: str, end: int) -> Iterator[Anomaly]:
    """What was read is committed, so that every replica that is in sync knows it to be when all is over."""
    offsets = evidence.logs[Isolation.UNCOMMITTED][key].offsets
    read = [each for each in offsets if each >= end]
    if read:
        message = f"{key}: the replicas agree on what is below {end}, {read[-1]} was seen"
        yield Anomaly("replica-short", message, fails=False)


def leader_rotation(evidence: Evidence) -> Iterator[Anomaly]:
    """X6: whoever leads, a whole read shows the same records at the same offsets."""
    for isolation in Isolation:
        reads = [each for each in evidence.final_reads(isolation) if ROTATION in each.facts]
        for other in reads[1:]:
            for key in reads[0].keys & other.keys:
                mine, theirs = _records(reads[0], key), _records(other, key)
                if mine != theirs:
                    only = sorted(mine ^ theirs)[:3]
                    message = f"{key} is not the same in {reads[0]} and in {other}: {only}"
                    yield Anomaly("leader-rotation", message)


def _records(read: Operation, key: str) -> set[tuple[int, str]]:
    return {(polled.offset, polled.value) for polled in read.polls if polled.key == key}

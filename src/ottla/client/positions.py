"""Pure: what a consumer reads, and how far it has got: assignment, positions, pauses."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ottla.base.errors import OttlaError
from ottla.base.ids import TopicPartition
from ottla.client.consumer_record import ConsumerRecord
from ottla.client.fetched import Fetched

MOST_FETCHED = 2
"""Answers kept of a partition: one being read, and the next, so that reading never waits for it."""


NOBODY = (-1, 0.0)
"""No replica is preferred to the leader, until no time."""


class OffsetAndMetadata(NamedTuple):
    """What is committed: the offset of the next record to read, and a note."""

    offset: int
    metadata: str = ""
    leader_epoch: int = -1


class EpochEnd(NamedTuple):
    """The last offset that a leader and a reader have in common, and its epoch (KIP-320)."""

    epoch: int
    end_offset: int


def as_committed(offset: OffsetAndMetadata | int) -> OffsetAndMetadata:
    """An offset by itself stands for one without a note."""
    return OffsetAndMetadata(offset) if isinstance(offset, int) else offset


class Position:
    """One assigned partition."""

    __slots__ = (
        "diverged",
        "epoch",
        "failure",
        "fetch_offset",
        "fetched",
        "high_watermark",
        "last_epoch",
        "log_start_offset",
        "not_before_ms",
        "offset",
        "paused",
        "preferred",
        "ready",
        "ready_at",
        "ready_end",
        "ready_epoch",
        "ready_failure",
        "reset",
        "revoking",
        "stable_offset",
    )

    def __init__(self) -> None:
        self.offset: int | None = None
        # The leader epoch of what was read last, for commits, and of what was fetched last, for fetches.
        self.epoch = -1
        self.last_epoch = -1
        # Why nothing can be read here until the program seeks; every poll raises it.
        self.failure: OttlaError | None = None
        # Where the leader's log parts from what was fetched; followed by the next poll, unless somebody seeks first.
        self.diverged: EpochEnd | None = None
        self.reset: int | None = None
        self.paused = False
        self.revoking = False
        self.preferred = NOBODY
        self.fetch_offset = -1
        self.fetched: deque[Fetched] = deque()
        self.ready: list[ConsumerRecord] = []
        self.ready_at = 0
        self.ready_end = 0
        self.ready_epoch = -1
        self.ready_failure: OttlaError | None = None
        self.not_before_ms = 0.0
        self.high_watermark: int | None = None
        self.stable_offset: int | None = None
        self.log_start_offset: int | None = None

    def seek(self, offset: int, leader_epoch: int = -1) -> None:
        """Go on from an offset; what was fetched is thrown away."""
        self.drop()
        self.offset = self.fetch_offset = offset
        self.epoch = self.last_epoch = leader_epoch
        self.reset = None

    def ask_reset(self, timestamp: int) -> None:
        """Look the position up by a timestamp, or the protocol's numbers for earliest and latest."""
        self.drop()
        self.offset, self.reset = None, timestamp

    def drop(self) -> None:
        """Forget what was fetched and not read."""
        self.fetched.clear()
        self.ready, self.ready_at, self.ready_failure = [], 0, None
        self.failure = self.diverged = None
        if self.offset is not None:
            self.fetch_offset = self.offset

    def wants_more(self) -> bool:
        """Whether the next part should be fetched."""
        return (
            self.offset is not None
            and not self.paused
            and not self.revoking
            and self.failure is None
            and self.diverged is None
            and len(self.fetched) < MOST_FETCHED
        )

    def has_unread(self) -> bool:
        """Whether something was fetched that no poll has returned yet."""
        return bool(self.fetched) or self.ready_at < len(self.ready)

    def arrived(self, requested_offset: int, fetched: Fetched) -> bool:
        """Keep what was fetched; false if the position has moved since it was asked for."""
        if self.offset is None or requested_offset != self.fetch_offset:
            return False
        if fetched:
            self.fetched.append(fetched)
            self.fetch_offset = fetched.end_offset
            self.last_epoch = fetched.last_epoch
        return True


class Positions:
    """The assigned partitions."""

    def __init__(self) -> None:
        self._by_partition: dict[TopicPartition, Position] = {}

    def __contains__(self, partition: object) -> bool:
        return partition in self._by_partition

    def __iter__(self) -> Iterator[TopicPartition]:
        return iter(self._by_partition)

    def items(self) -> list[tuple[TopicPartition, Position]]:
        """All partitions and their positions, those served last at the end."""
        return list(self._by_partition.items())

    def __getitem__(self, partition: TopicPartition) -> Position:
        found = self._by_partition.get(partition)
        if found is None:
            raise OttlaError(f"{partition} is not assigned to this consumer")
        return found

    def get(self, partition: TopicPartition) -> Position | None:
        """The position in a partition, if it is assigned."""
        return self._by_partition.get(partition)

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read exactly these; what was assigned before keeps its position."""
        wanted = dict.fromkeys(partitions)
        old = self._by_partition
        self._by_partition = {each: old.get(each) or Position() for each in wanted}

    def served(self, partition: TopicPartition) -> None:
        """Serve this one last the next time."""
        self._by_partition[partition] = self._by_partition.pop(partition)

    def failure(self) -> OttlaError | None:
        """Why one of them, that is neither paused nor leaving, cannot be read on."""
        for position in self._by_partition.values():
            if position.failure is not None and not position.paused and not position.revoking:
                return position.failure
        return None

    def lost(self) -> list[TopicPartition]:
        """Those without a position, that nobody has asked to look up yet."""
        return [
            partition
            for partition, position in self._by_partition.items()
            if position.offset is None and position.reset is None
        ]

    def to_reset(self) -> dict[TopicPartition, int]:
        """Those whose position is to be looked up, and by what."""
        return {
            partition: position.reset
            for partition, position in self._by_partition.items()
            if position.offset is None and position.reset is not None
        }

    def consumed(
        self, unread: Iterable[ConsumerRecord] = ()
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """How far each partition was read; records in `unread` were returned but not seen yet."""
        found = {
            partition: OffsetAndMetadata(position.offset, "", position.epoch)
            for partition, position in self._by_partition.items()
            if position.offset is not None
        }
        for record in unread:
            where = TopicPartition(record.topic, record.partition)
            if where in found and record.offset < found[where].offset:
                found[where] = OffsetAndMetadata(record.offset, "", record.leader_epoch)
        return found

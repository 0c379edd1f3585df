"""Pure: what the coordinator knows of one transactional id, and the states it goes through."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Final, NamedTuple

from ottla.base.ids import TopicPartition

NO_PRODUCER_ID: Final = -1
NO_EPOCH: Final = -1
MAX_EPOCH: Final = 2**15 - 1
NOT_STARTED: Final = -1

FIRST_WITH_EPOCH_BUMP: Final = 2
"""The transaction.version (KIP-890) from which on every end of a transaction bumps the epoch."""


class State(IntEnum):
    """Where a transactional id stands; the numbers and names are Kafka's.

    Empty. A producer has been given an id and an epoch, and no transaction has begun. Adding a partition begins one;
    a producer of transaction version 2 may abort although nothing was added, which bumps its epoch.

    Ongoing. The transaction holds partitions, and its clock runs. It ends by EndTxn, by its time-out, or because a new
    producer with the same transactional id takes over; the last two abort it with an epoch that fences the producer.

    PrepareCommit. The outcome is decided and in the log: the transaction is committed, whatever happens now. Markers
    are being written to its partitions. Nothing else may begin: whoever asks is told CONCURRENT_TRANSACTIONS.

    PrepareAbort. The same, with the outcome that nothing of it counts.

    CompleteCommit. All markers are written. The next partition that is added begins the next transaction.

    CompleteAbort. The same, after an abort.

    Dead. The transactional id has expired. It is never stored: a tombstone takes the place of the record.

    PrepareEpochFence. A newer producer, or the time-out, is about to abort an ongoing transaction. Deciding and
    replaying are one step here, so nothing is ever in this state; it exists because Kafka's tools know it.
    """

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def label(self) -> str:
        """The name as DescribeTransactions and ListTransactions show it."""
        return "".join(word.capitalize() for word in self.name.split("_"))


STATES_BY_LABEL: Final = {state.label: state for state in State}
PREPARING: Final = frozenset({State.PREPARE_COMMIT, State.PREPARE_ABORT})
COMPLETE: Final = frozenset({State.COMPLETE_COMMIT, State.COMPLETE_ABORT})
IDLE: Final = COMPLETE | {State.EMPTY}


class Producer(NamedTuple):
    """A producer id at an epoch, as a request claims it or a reply grants it."""

    producer_id: int
    epoch: int


class Transaction(NamedTuple):
    """All that is remembered for ever of one transactional id: the value of its record."""

    producer_id: int
    epoch: int
    timeout_ms: int
    state: State
    partitions: frozenset[TopicPartition]
    updated_ms: int
    started_ms: int = NOT_STARTED
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    next_epoch: int = NO_EPOCH
    client_version: int = 0

    @property
    def producer(self) -> Producer:
        """Who may write in the transaction."""
        return Producer(self.producer_id, self.epoch)

    @property
    def bumps_epoch(self) -> bool:
        """Whether the last who changed it spoke transaction version 2."""
        return self.client_version >= FIRST_WITH_EPOCH_BUMP

    @property
    def is_exhausted(self) -> bool:
        """Whether no client may be given another epoch of this producer id: the last is kept for fencing."""
        return self.epoch >= MAX_EPOCH - 1

    def times_out_at_ms(self) -> int:
        """When an ongoing transaction is aborted."""
        return self.started_ms + self.timeout_ms


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Partition numbers by topic, both in order."""
    grouped: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        grouped.setdefault(topic, []).append(partition)
    return grouped

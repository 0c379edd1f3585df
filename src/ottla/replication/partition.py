"""One hosted partition: its log, its leadership and its high watermark; the object that handlers talk to."""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Callable
from operator import itemgetter
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

from ottla.base.errors import ApiError, OffsetOutOfRange, StorageError
from ottla.base.ids import TopicPartition
from ottla.base.metrics import RateRing
from ottla.cluster.image import PartitionImage
from ottla.protocol.errors import ErrorCode
from ottla.protocol.records.batch import NO_TIMESTAMP, parse_header
from ottla.protocol.records.control import EndTransactionMarker, build_end_transaction_marker
from ottla.storage.validate import ValidatedBatch

if TYPE_CHECKING:
    from ottla.storage.log import Appended, Log
    from ottla.storage.log_read import LogRead


class FetchWaiter(Protocol):
    """A long poll that wants to hear when more can be read."""

    def wake(self) -> None:
        """The high watermark, the leader or the log start has moved."""


class Partition:
    """The leader's view of one partition.

    The high watermark is the end of what every in-sync replica holds; consumers see nothing above it. Where
    `flush.messages` is 1, a replica holds what it has synced, not what it has written.
    """

    __slots__ = (
        "_committed", "_fetch_waiters", "_request_flush", "bytes_in", "bytes_out", "leader_epoch",
        "log", "messages_in", "placed", "tp",
    )  # fmt: skip

    def __init__(
        self,
        tp: TopicPartition,
        log: Log,
        placed: PartitionImage,
        *,
        request_flush: Callable[[Partition], None],
    ) -> None:
        self.tp = tp
        self.log = log
        self.placed = placed
        self.leader_epoch = placed.leader_epoch
        self.log.high_watermark = self._held_end()
        self.bytes_in, self.bytes_out, self.messages_in = RateRing(), RateRing(), RateRing()
        self._request_flush = request_flush
        self._fetch_waiters: set[FetchWaiter] = set()
        self._committed: deque[tuple[int, Callable[[int], None]]] = deque()

    def lead(self, placed: PartitionImage) -> None:
        """Take over where the metadata now puts the replicas and who leads them."""
        self.placed = placed
        self.leader_epoch = placed.leader_epoch
        self.wake()

    @property
    def topic_id(self) -> UUID:
        """The id of the topic this partition belongs to."""
        return self.log.topic_id

    @property
    def syncs_every_batch(self) -> bool:
        """Whether an acknowledged batch must survive a power cut."""
        return self.log.config.flush_messages == 1

    @property
    def high_watermark(self) -> int:
        """The end of what is committed; kept in the log, whose retention must not pass it."""
        return self.log.high_watermark

    @property
    def last_stable_offset(self) -> int:
        """The end of what read_committed consumers see: no open transaction lies below it."""
        unstable = self.log.first_unstable_offset()
        return self.high_watermark if unstable is None else min(self.high_watermark, unstable)

    def append(self, batch: ValidatedBatch, now_ms: int) -> Appended:
        """Append as leader; the high watermark follows at once where nobody must be waited for."""
        log, header = self.log, batch.header
        appended = log.append(batch.batch, header, self.leader_epoch, now_ms)
        if appended.duplicate:
            return appended
        self.bytes_in.add(now_ms, header.length)
        self.messages_in.add(now_ms, header.count)
        if log.wants_sync:
            self._request_flush(self)
        self.advance_high_watermark()
        return appended

    def end_transaction(
        self,
        producer_id: int,
        producer_epoch: int,
        marker: EndTransactionMarker,
        now_ms: int,
        *,
        must_bump: bool = False,
    ) -> int:
        """Append the marker that ends a producer's transaction here; the offset behind it.

        With `must_bump` (KIP-1228) an open transaction is ended only by an epoch above its own, so that a marker that
        comes late cannot end the transaction after the one it was meant for.
        """
        if must_bump and self.log.producers.in_transaction(producer_id, producer_epoch):
            raise ApiError(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"a marker of epoch {producer_epoch} cannot end a transaction of that epoch",
            )
        batch = memoryview(
            build_end_transaction_marker(
                marker, producer_id=producer_id, producer_epoch=producer_epoch, now_ms=now_ms
            )
        )
        header = parse_header(batch)
        return self.append(ValidatedBatch(header, batch, NO_TIMESTAMP), now_ms).last_offset + 1

    def check_in_sync(self) -> None:
        """Refuse an acks=all write that too few replicas would hold; a topic cannot ask for more than it has."""
        needed = min(self.log.config.min_insync_replicas, len(self.placed.replicas))
        if len(self.placed.isr) < needed:
            raise ApiError(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                f"{self.tp} has {len(self.placed.isr)} in-sync replicas, min.insync.replicas asks for {needed}",
            )

    def check_leader_epoch(self, claimed: int) -> None:
        """Compare the epoch a client knows with ours (KIP-320); -1 means it knows none."""
        if claimed < 0 or claimed == self.leader_epoch:
            return
        if claimed < self.leader_epoch:
            raise ApiError(
                ErrorCode.FENCED_LEADER_EPOCH, f"{self.tp} is at leader epoch {self.leader_epoch}"
            )
        raise ApiError(
            ErrorCode.UNKNOWN_LEADER_EPOCH, f"{self.tp} is only at leader epoch {self.leader_epoch}"
        )

    def read(
        self, offset: int, max_bytes: int, upper_offset: int, *, at_least_one: bool
    ) -> LogRead:
        """Whole batches from the one that contains `offset` on, below `upper_offset`."""
        if not self.log.start_offset <= offset <= self.log.end_offset:
            raise OffsetOutOfRange(
                f"{self.tp} holds offsets {self.log.start_offset} to {self.log.end_offset}, not {offset}"
            )
        return self.log.read(offset, max_bytes, upper_offset, at_least_one=at_least_one)

    def diverging_epoch(self, last_fetched_epoch: int, fetch_offset: int) -> tuple[int, int] | None:
        """Where a reader's log parts from ours (epoch, end offset), if it does (KIP-595)."""
        if last_fetched_epoch < 0:
            return None
        epoch, end_offset = self.log.end_offset_for_epoch(last_fetched_epoch)
        if epoch < 0 or end_offset < 0:
            raise OffsetOutOfRange(f"{self.tp} knows no leader epoch {last_fetched_epoch}")
        if fetch_offset < self.log.start_offset:
            raise OffsetOutOfRange(f"{self.tp} begins at {self.log.start_offset}")
        if epoch < last_fetched_epoch or end_offset < fetch_offset:
            return epoch, end_offset
        return None

    def aborted_transactions(self, offset: int, upper_offset: int) -> tuple[tuple[int, int], ...]:
        """(producer id, first offset) of what a read_committed reader of this range must skip."""
        found = self.log.aborted_transactions(offset, upper_offset)
        return tuple((aborted.producer_id, aborted.first_offset) for aborted in found)

    def when_committed(self, end_offset: int, then: Callable[[int], None]) -> None:
        """Call `then(error)` once everything below `end_offset` is committed, or cannot be any more."""
        committed = self._committed
        if committed and end_offset < committed[-1][0]:
            insort(committed, (end_offset, then), key=itemgetter(0))  # a batch that was sent again
        else:
            committed.append((end_offset, then))

    def advance_high_watermark(self) -> None:
        """Move the high watermark to what the in-sync replicas hold, and wake whoever waited."""
        log = self.log
        held = self._held_end()
        if held <= log.high_watermark:
            return
        log.high_watermark = held
        committed = self._committed
        while committed and committed[0][0] <= held:
            committed.popleft()[1](0)
        if self._fetch_waiters:
            self.wake()

    def _held_end(self) -> int:
        log = self.log
        return log.synced_offset if log.config.flush_messages == 1 else log.end_offset

    def add_waiter(self, waiter: FetchWaiter) -> None:
        """Have `waiter` woken whenever there may be more to read."""
        self._fetch_waiters.add(waiter)

    def remove_waiter(self, waiter: FetchWaiter) -> None:
        """`waiter` has its answer."""
        self._fetch_waiters.discard(waiter)

    def wake(self) -> None:
        """Let every long poll look again."""
        for waiter in tuple(self._fetch_waiters):
            waiter.wake()

    def advance_start_offset(self, offset: int) -> int:
        """Forget everything below `offset` (-1: the high watermark); the new log start."""
        target = self.high_watermark if offset == -1 else offset
        if not self.log.start_offset <= target <= self.high_watermark:
            if 0 <= target < self.log.start_offset:
                return self.log.start_offset
            raise OffsetOutOfRange(
                f"{self.tp}: {target} is above the high watermark {self.high_watermark}"
            )
        self.log.advance_start_offset(target)
        return target

    def flushed(self, error: StorageError | None) -> None:
        """A sync has ended: what it covered counts as held, or this log cannot promise anything any more."""
        if error is None:
            self.advance_high_watermark()
        else:
            self.fail_waiters(error_code_of(error))

    def fail_waiters(self, error: int) -> None:
        """Nobody here can answer any more: the log is offline, or the partition is gone."""
        committed, self._committed = self._committed, deque()
        for _, then in committed:
            then(error)
        self.wake()


def error_code_of(failure: ApiError | StorageError) -> int:
    """What a client is told of a failed append or read."""
    if isinstance(failure, ApiError):
        return failure.code
    if isinstance(failure, OffsetOutOfRange):
        return ErrorCode.OFFSET_OUT_OF_RANGE
    return ErrorCode.KAFKA_STORAGE_ERROR

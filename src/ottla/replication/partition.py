"""One hosted partition: its log, who leads it and its high watermark; the object that handlers talk to."""

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
from ottla.replication import metrics
from ottla.replication.divergence import truncation_offset
from ottla.replication.leadership import Leadership
from ottla.storage import log_read
from ottla.storage.validate import ValidatedBatch

if TYPE_CHECKING:
    from ottla.storage.log import Appended, Log
    from ottla.storage.log_read import LogRead


class FetchWaiter(Protocol):
    """A long poll that wants to hear when more can be read."""

    def wake(self) -> None:
        """The high watermark, the leader or the log start has moved."""


class Watch(Protocol):
    """Who acts on what a partition notices: the set of partitions that it belongs to."""

    def leads(self, placed: PartitionImage) -> bool:
        """Whether this broker leads a partition that is placed so, in its present life."""

    def flush(self, partition: Partition) -> None:
        """Its log has to be synced."""

    def caught_up(self, partition: Partition) -> None:
        """A replica outside of the ISR may have caught up."""

    def changed(self, partition: Partition, *, wake: bool) -> None:
        """Its followers have something to fetch or to hear; with `wake`, at once."""


class Partition:
    """One replica of a partition, as its leader or as a follower.

    The high watermark is the end of what every in-sync replica holds; consumers see nothing above it. Where
    `flush.messages` is 1, a replica holds what it has synced, not what it has written. `leadership` is there while this
    broker leads several replicas.
    """

    __slots__ = (
        "_committed", "_fetch_waiters", "_held", "_me", "_trims", "_watch", "bytes_in", "bytes_out",
        "is_leader", "leader_epoch", "leadership", "log", "messages_in", "placed", "tp",
    )  # fmt: skip

    def __init__(
        self,
        tp: TopicPartition,
        log: Log,
        placed: PartitionImage,
        *,
        node_id: int,
        watch: Watch,
        now_ms: int,
    ) -> None:
        self.tp = tp
        self.log = log
        self._me = node_id
        self._watch = watch
        self.bytes_in, self.bytes_out, self.messages_in = RateRing(), RateRing(), RateRing()
        self._fetch_waiters: set[FetchWaiter] = set()
        self._committed: deque[tuple[int, Callable[[int], None]]] = deque()
        self._held: deque[tuple[int, Callable[[int], None]]] = deque()
        self._trims: list[tuple[int, Callable[[int], None]]] = []
        self.placed = placed
        self.leader_epoch = -1
        self.is_leader = False
        self.leadership: Leadership | None = None
        self.place(placed, now_ms)

    def place(self, placed: PartitionImage, now_ms: int) -> None:
        """Take over where the metadata now puts the replicas, who is in sync and who leads them."""
        leads = self._watch.leads(placed)
        fresh = placed.leader_epoch != self.leader_epoch or leads != self.is_leader
        if leads and placed.isr != self.placed.isr:
            _count_isr_change(self.placed.isr, placed.isr)
        self.placed, self.leader_epoch, self.is_leader = placed, placed.leader_epoch, leads
        if not leads:
            self.leadership = None
            self.fail_waiters(ErrorCode.NOT_LEADER_OR_FOLLOWER)
            return
        if fresh:
            # Even an epoch without records has a beginning: followers with a longer log are told to cut it there.
            self.log.epochs.assign(self.leader_epoch, self.log.end_offset)
        if len(placed.replicas) == 1:
            self.leadership = None
        elif fresh or self.leadership is None:
            self.leadership = Leadership(self._me, placed, self.log.end_offset, now_ms)
            self.leadership.trimmed_to = self.log.start_offset
        else:
            self.leadership.adopt(placed, now_ms)
            if self.is_under_min_isr:
                self._fail_committed(ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
            if None in placed.left.values():
                self._watch.caught_up(self)
        self.advance_high_watermark()
        self._settle_trims()
        self.wake()

    @property
    def topic_id(self) -> UUID:
        """The id of the topic this partition belongs to."""
        return self.log.topic_id

    @property
    def syncs_every_batch(self) -> bool:
        """Whether an acknowledged batch must survive a power cut."""
        return self.log.syncs_every_batch

    @property
    def end(self) -> tuple[int, int]:
        """The last leader epoch of the log, and where it ends."""
        log = self.log
        return log.epochs.epoch_of(log.end_offset - 1), log.end_offset

    @property
    def high_watermark(self) -> int:
        """The end of what is committed; kept in the log, whose retention must not pass it."""
        return self.log.high_watermark

    @property
    def last_stable_offset(self) -> int:
        """The end of what read_committed consumers see: no open transaction lies below it."""
        unstable = self.log.first_unstable_offset()
        return self.high_watermark if unstable is None else min(self.high_watermark, unstable)

    def acknowledges_at_once(self, acks: int) -> bool:
        """Whether what is written here as leader needs to wait for nothing else: no sync, no other replica."""
        return (
            self.is_leader
            and not self.log.syncs_every_batch
            and (acks == 1 or (acks == -1 and self.leadership is None))
        )

    def append(self, batch: ValidatedBatch, now_ms: int) -> Appended:
        """Append as leader; the high watermark follows at once where nobody must be waited for."""
        if not self.is_leader:
            # Whoever found this partition may have waited since, and a follower's log is not ours to write.
            raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{self.tp} is led by another broker")
        log = self.log
        header, data, _ = batch
        appended = log.append(data, header, self.leader_epoch, now_ms)
        if appended.duplicate:
            return appended
        self.bytes_in.add(now_ms, header.length)
        self.messages_in.add(now_ms, header.count)
        if log.wants_sync:
            self._watch.flush(self)
        self.advance_high_watermark()
        if self.leadership is not None:
            self._watch.changed(self, wake=True)
        return appended

    def replica_fetched(
        self,
        broker_id: int,
        broker_epoch: int,
        offset: int,
        now_ms: int,
        log_start_offset: int = -1,
    ) -> None:
        """A follower asks for `offset`: it holds everything below, from its own start on."""
        leadership = self.leadership
        if leadership is None or not leadership.fetched(
            broker_id, broker_epoch, offset, self.log.end_offset, now_ms, log_start_offset
        ):
            raise ApiError(
                ErrorCode.NOT_LEADER_OR_FOLLOWER,
                f"broker {broker_id} in epoch {broker_epoch} is no replica of {self.tp}",
            )
        self.advance_high_watermark()
        if self._trims:
            self._settle_trims()
        if len(self.placed.isr) < len(self.placed.replicas):
            self._watch.caught_up(self)

    def append_fetched(self, batches: memoryview, now_ms: int) -> int:
        """Append what the leader sent, as it is; the new end of the log."""
        end_offset = self.log.append_replicated(batches, now_ms)
        if self.log.wants_sync:
            self._watch.flush(self)
        return end_offset

    def follow(self, high_watermark: int, log_start_offset: int) -> None:
        """Take over from the leader how far the log is committed, and where it begins."""
        log = self.log
        committed = min(high_watermark, log.end_offset)
        if committed > log.high_watermark:
            log.high_watermark = committed
            self.wake()
        if log_start_offset > log.start_offset:
            log.advance_start_offset(min(log_start_offset, log.high_watermark))

    def truncate(self, leader_epoch: int, leader_end_offset: int, now_ms: int) -> None:
        """Cut off what the leader does not have, given the epoch that both share and where it ends there."""
        log = self.log
        offset = truncation_offset(log.epochs, log.end_offset, leader_epoch, leader_end_offset)
        log.truncate_to(offset, now_ms)

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
        if self.is_under_min_isr:
            raise ApiError(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                f"{self.tp} has {len(self.placed.isr)} in-sync replicas, min.insync.replicas asks for "
                f"{self.log.config.min_insync_replicas}",
            )

    @property
    def is_under_min_isr(self) -> bool:
        """Whether fewer replicas are in sync than an acks=all write needs.

        Always so while there are eligible leaders outside of the ISR: they are eligible because nothing is committed
        without them (KIP-966), whatever this broker's settings say.
        """
        if self.placed.elr:
            return True
        needed = min(self.log.config.min_insync_replicas, len(self.placed.replicas))
        return len(self.placed.isr) < needed

    @property
    def is_under_replicated(self) -> bool:
        """Whether this broker leads it while replicas are out of sync; those that are being added do not count."""
        placed = self.placed
        return self.is_leader and len(placed.isr) < len(placed.replicas) - len(placed.adding)

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

    def check_end_known(self) -> None:
        """Refuse to tell a client where the end is while this leader may know less than the one before (KIP-207)."""
        if self.leadership is not None and self.high_watermark < self.leadership.start_offset:
            raise ApiError(
                ErrorCode.OFFSET_NOT_AVAILABLE,
                f"the high watermark of {self.tp} has not reached the beginning of its leader's epoch yet",
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

    def aborted_in(
        self, found: LogRead, offset: int, upper_offset: int
    ) -> tuple[tuple[int, int], ...]:
        """(producer id, first offset) of the aborted transactions in what was read from an offset on.

        Where that ends is looked up only if anything was aborted: the lookup is a tenth of a small fetch.
        """
        if not log_read.may_have_aborted(self.log, offset):
            return ()
        return self.aborted_transactions(offset, min(found.end_bound, upper_offset))

    def aborted_transactions(self, offset: int, upper_offset: int) -> tuple[tuple[int, int], ...]:
        """(producer id, first offset) of what a read_committed reader of this range must skip."""
        found = self.log.aborted_transactions(offset, upper_offset)
        return tuple((aborted.producer_id, aborted.first_offset) for aborted in found)

    def when_committed(self, end_offset: int, then: Callable[[int], None]) -> None:
        """Call `then(error)` once everything below `end_offset` is committed, or cannot be any more."""
        _queue(self._committed, end_offset, then)

    def when_held(self, end_offset: int, then: Callable[[int], None]) -> None:
        """The same for what this replica alone must hold, which is what acks=1 asks for."""
        if self.leadership is None:
            _queue(self._committed, end_offset, then)
        else:
            _queue(self._held, end_offset, then)

    def advance_high_watermark(self) -> None:
        """Move the high watermark to what the in-sync replicas hold, and wake whoever waited."""
        if not self.is_leader:
            return
        log = self.log
        held = log.synced_offset if log.syncs_every_batch else log.end_offset
        if self.leadership is not None:
            _settle(self._held, held)
            if self.is_under_min_isr:
                # KIP-966: what too few hold is not committed, so that it is not lost with them.
                return
            held = self.leadership.committed_end(held)
        if held <= log.high_watermark:
            return
        log.high_watermark = held
        if self._committed:
            _settle(self._committed, held)
        if self.leadership is not None:
            self._watch.changed(self, wake=self.leadership.tells_at_once)
        if self._fetch_waiters:
            self._wake_readers()

    def add_waiter(self, waiter: FetchWaiter) -> None:
        """Have `waiter` woken whenever there may be more to read."""
        self._fetch_waiters.add(waiter)

    def remove_waiter(self, waiter: FetchWaiter) -> None:
        """`waiter` has its answer."""
        self._fetch_waiters.discard(waiter)

    def wake(self) -> None:
        """Let every long poll look again."""
        self._wake_readers()
        if len(self.placed.replicas) > 1:
            self._watch.changed(self, wake=True)

    def _wake_readers(self) -> None:
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
        if self.log.advance_start_offset(target) and self.leadership is not None:
            self.leadership.trimmed_to = target
            self._watch.changed(self, wake=True)
        return target

    def when_trimmed(self, offset: int, then: Callable[[int], None]) -> None:
        """Call `then(error)` once all replicas in sync begin at an offset: no failover brings deleted records back."""
        self._trims.append((offset, then))
        self._settle_trims()

    def _settle_trims(self) -> None:
        trims, self._trims, leadership = self._trims, [], self.leadership
        for offset, then in trims:
            if leadership is None or leadership.is_trimmed_to(offset):
                then(0)
            else:
                self._trims.append((offset, then))

    def went_offline(self) -> None:
        """The log directory failed: until a restart this replica neither leads nor follows."""
        self.is_leader, self.leadership = False, None
        self.fail_waiters(ErrorCode.KAFKA_STORAGE_ERROR)

    def flushed(self, error: StorageError | None) -> None:
        """A sync has ended: what it covered counts as held, or this log cannot promise anything any more."""
        if error is None:
            self.advance_high_watermark()
        else:
            self.fail_waiters(error_code_of(error))

    def fail_waiters(self, error: int) -> None:
        """Nobody here can answer any more: the log is offline, the partition is gone, or others lead it."""
        self._fail_committed(error)
        held, self._held = self._held, deque()
        for _, then in held:
            then(error)
        trims, self._trims = self._trims, []
        for _, then in trims:
            then(error)
        self.wake()

    def _fail_committed(self, error: int) -> None:
        committed, self._committed = self._committed, deque()
        for _, then in committed:
            then(error)


def _count_isr_change(before: tuple[int, ...], after: tuple[int, ...]) -> None:
    """Whoever leads counts, so that a change is counted once in a cluster."""
    metrics.ISR_SHRINKS.value += any(each not in after for each in before)
    metrics.ISR_EXPANDS.value += any(each not in before for each in after)


def _queue(
    waiting: deque[tuple[int, Callable[[int], None]]], end_offset: int, then: Callable[[int], None]
) -> None:
    if waiting and end_offset < waiting[-1][0]:
        insort(waiting, (end_offset, then), key=itemgetter(0))  # a batch that was sent again
    else:
        waiting.append((end_offset, then))


def _settle(waiting: deque[tuple[int, Callable[[int], None]]], end_offset: int) -> None:
    while waiting and waiting[0][0] <= end_offset:
        waiting.popleft()[1](0)


def error_code_of(failure: ApiError | StorageError) -> int:
    """What a client is told of a failed append or read."""
    if isinstance(failure, ApiError):
        return failure.code
    if isinstance(failure, OffsetOutOfRange):
        return ErrorCode.OFFSET_OUT_OF_RANGE
    return ErrorCode.KAFKA_STORAGE_ERROR

"""Runs a coordinator's machines: decide, append, replay, reply; load with leadership, discard without it.

One machine per partition of the coordinator's topic. Everything happens on the loop, and with one
replica in one callback: no task, no queue, no lock.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from ottla.base.clock import Clock
from ottla.base.errors import ApiError, StorageError
from ottla.base.log import logger
from ottla.base.tasks import Tasks
from ottla.cluster.image import Delta, Image
from ottla.coordination import metrics
from ottla.coordination.batches import MOST_TOGETHER, RepeatedRecord, encode, encode_together
from ottla.coordination.decision import Decision, Shard, Token
from ottla.coordination.loading import load
from ottla.coordination.quiet import Quiet
from ottla.coordination.routing import partition_for
from ottla.protocol.errors import ErrorCode
from ottla.protocol.records.batch import NO_TIMESTAMP
from ottla.replication.partition import Partition
from ottla.replication.partitions import Partitions
from ottla.storage.validate import ValidatedBatch

log = logger(__name__)

S = TypeVar("S", bound=Shard)

_S_contra = TypeVar("_S_contra", contravariant=True)


class Repeated(Protocol[_S_contra]):
    """A write of one record that comes over and over, and whose answer is always that it was kept.

    It brings no deadline nearer, and it does not mind others of its kind before or behind it in the same batch.
    """

    key: str
    record: RepeatedRecord

    def decide(self, shard: _S_contra, now_ms: int) -> bool:
        """Bring the record up to date; False if there is more to say."""

    def replay(self, shard: _S_contra, now_ms: int) -> None:
        """The machine learns what was appended."""


# A log that could not be read is tried again after this long, then twice as long, and so on.
_RETRY_S = 0.5
_LONGEST_RETRY_S = 30.0
# While too few replicas would hold what is due, it is looked for again after this long.
_OUT_OF_SYNC_S = 0.5
_ALL = -1
"""What a coordinator writes counts when all replicas in sync have it."""
_TOLD: dict[int, int] = {
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
}
"""Errors of the log in the words that clients of a coordinator expect, as in Kafka."""


class _Hosted(Generic[S]):
    """One machine and the partition it lives on; `loaded` once its log has been replayed.

    `unavailable` says why the log could not be read, for as long as that is so.
    """

    __slots__ = (
        "failed", "leader_epoch", "loaded", "partition", "quiet", "sets_timer", "shard", "timer",
        "timer_ms", "unavailable", "waiting",
    )  # fmt: skip

    def __init__(
        self, partition: Partition, shard: S, when_quiet: Callable[[_Hosted[S]], None]
    ) -> None:
        self.partition = partition
        self.leader_epoch = partition.leader_epoch
        self.shard = shard
        self.loaded = False
        self.failed = False
        self.unavailable = ""
        self.quiet = Quiet(partial(when_quiet, self))
        self.timer: asyncio.TimerHandle | None = None
        self.timer_ms: int | None = None
        # Whether it will be set at the end of this turn of the loop.
        self.sets_timer = False
        # Replies that wait for the high watermark, in the order of their offsets.
        self.waiting: deque[tuple[int, Token, Any]] = deque()


class Coordinator(Generic[S]):
    """All machines of one kind that this broker hosts."""

    def __init__(
        self,
        topic: str,
        make_shard: Callable[[int], S],
        partitions: Partitions,
        tasks: Tasks,
        clock: Clock,
        is_current: Callable[[], bool],
    ) -> None:
        self.topic = topic
        self._make_shard = make_shard
        self._partitions = partitions
        self._tasks = tasks
        self._now_ms = clock.watched(self._clock_was_set)
        self._is_current = is_current
        self.partition_count = 0
        self._hosted: dict[int, _Hosted[S]] = {}

    async def apply(self, image: Image, delta: Delta) -> None:
        """Follow the metadata: load what this broker now leads, discard what it does not."""
        change = delta.topics.get(self.topic)
        if change is None:
            return
        self.partition_count = 0 if change.after is None else len(change.after.partitions)
        for index in list(self._hosted):
            if not self._is_still_led(self._hosted[index]):
                self._discard(index)
        for index in range(self.partition_count):
            partition = self._partitions.find(self.topic, index)
            if partition is not None and partition.is_leader and index not in self._hosted:
                hosted = self._hosted[index] = self._host(partition)
                self._tasks.spawn(self._load(hosted))

    def _host(self, partition: Partition) -> _Hosted[S]:
        return _Hosted(partition, self._make_shard(partition.tp.partition), self._quiet)

    def _is_still_led(self, hosted: _Hosted[S]) -> bool:
        """Whether a machine's partition is led here, and was all the time: in another epoch others may have written."""
        partition = hosted.partition
        return (
            self._partitions.find(*partition.tp) is partition
            and partition.is_leader
            and partition.leader_epoch == hosted.leader_epoch
        )

    def partition_of(self, key: str) -> int | None:
        """The partition that a group or transactional id belongs to; None before the topic exists."""
        return partition_for(key, self.partition_count) if self.partition_count else None

    def shards(self) -> list[S]:
        """Every machine; ApiError while one is being loaded. As in Kafka, one that cannot be is left out."""
        readable = [hosted for hosted in self._hosted.values() if not hosted.unavailable]
        if not all(hosted.loaded for hosted in readable):
            raise ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, f"{self.topic} is being loaded")
        return [hosted.shard for hosted in readable]

    def loaded_shards(self) -> list[S]:
        """Every machine that is loaded, whatever the others do."""
        return [hosted.shard for hosted in self._hosted.values() if hosted.loaded]

    def write(self, key: str, decide: Callable[[S, int], Decision]) -> None:
        """Let the machine of `key` decide, and carry it out; ApiError if this is not its coordinator."""
        hosted, now_ms = self._find(key), self._now_ms()
        hosted.quiet.disturbed()
        self._carry_out(hosted, decide(hosted.shard, now_ms), now_ms)

    def write_together(self, writes: Iterable[Repeated[S]]) -> set[Repeated[S]]:
        """Carry out what can be written and committed in one go; the others, with which nothing has happened.

        Whatever stands in their way stands in the way of `write` as well, which says what it is. Each step is done for
        all before the next, while the processor has its code at hand: with 50 clients a commit takes 18 us of CPU,
        and 27 if the same is done for one after the other.
        """
        now_ms = self._now_ms()
        others: set[Repeated[S]] = set()
        decided = self._decide_together(writes, others, now_ms)
        written = []
        for hosted, those in decided:
            if _append_together(hosted.partition, those, now_ms):
                written.append((hosted.shard, those))
            else:
                others.update(those)
        for shard, those in written:
            for write in those:
                write.replay(shard, now_ms)
        return others

    def _decide_together(
        self, writes: Iterable[Repeated[S]], others: set[Repeated[S]], now_ms: int
    ) -> list[tuple[_Hosted[S], list[Repeated[S]]]]:
        """What goes into a batch together, by the machine that has taken it; `others` are those that none has."""
        decided = []
        last: dict[int | None, tuple[_Hosted[S] | None, list[Repeated[S]]]] = {}
        for write in writes:
            index = self.partition_of(write.key)
            batch = last.get(index)
            if batch is None or len(batch[1]) == MOST_TOGETHER:
                batch = last[index] = self._writing_at_once(index), []
                decided.append(batch)
            hosted, taken = batch
            if hosted is not None and write.decide(hosted.shard, now_ms):
                taken.append(write)
            else:
                others.add(write)
        return [(hosted, taken) for hosted, taken in decided if hosted is not None and taken]

    def _writing_at_once(self, index: int | None) -> _Hosted[S] | None:
        """The machine of a partition, if nobody has to be waited for when it writes."""
        hosted = None if index is None else self._hosted.get(index)
        if (
            hosted is None
            or not hosted.loaded
            or not hosted.partition.acknowledges_at_once(_ALL)
            or not self._is_current()
        ):
            return None
        return hosted

    def write_everywhere(self, decide: Callable[[S, int], Decision]) -> None:
        """Let every machine that is loaded decide; one that is being loaded will find the world as it is."""
        for hosted in list(self._hosted.values()):
            if hosted.loaded:
                now_ms = self._now_ms()
                self._carry_out(hosted, decide(hosted.shard, now_ms), now_ms)

    def read(self, key: str, look: Callable[[S, int], Any], token: Token) -> None:
        """Answer `token` from the machine of `key`, once all that was seen is committed."""
        hosted = self._find(key)
        self._reply(hosted, ((token, look(hosted.shard, self._now_ms())),))

    def newest(self, key: str) -> S:
        """The machine of `key`, which may know what is not committed yet; ApiError if this is not its coordinator."""
        return self._find(key).shard

    def tell(self, key: str, say: Callable[[S, int], None]) -> None:
        """Let the machine of `key`, if it is here, know what it may forget."""
        index = self.partition_of(key)
        hosted = None if index is None else self._hosted.get(index)
        if hosted is not None and hosted.loaded:
            say(hosted.shard, self._now_ms())

    def tell_all(self, say: Callable[[S], None]) -> None:
        """Let every machine know, also one that is being loaded."""
        for hosted in self._hosted.values():
            say(hosted.shard)

    def replay_marker(self, index: int, producer_id: int, committed: bool) -> None:
        """A transaction marker was appended to this partition of the coordinator's topic."""
        hosted = self._hosted.get(index)
        if hosted is not None and hosted.loaded:
            hosted.shard.replay_marker(producer_id, committed)
            self._set_timer_soon(hosted)

    def _find(self, key: str) -> _Hosted[S]:
        count = self.partition_count
        hosted = self._hosted.get(partition_for(key, count)) if count else None
        if (
            hosted is not None
            and hosted.loaded
            and hosted.partition.is_leader
            and self._is_current()
        ):
            return hosted
        raise self._why_not(key)

    def _why_not(self, key: str) -> ApiError:
        """What keeps this broker from being the coordinator of `key`."""
        index = self.partition_of(key)
        if index is None:
            return ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{self.topic} does not exist yet")
        if not self._is_current():
            # Another broker may be the coordinator by now: what this one would say may be out of date.
            return ApiError(
                ErrorCode.COORDINATOR_NOT_AVAILABLE, "this broker has lost touch with its cluster"
            )
        hosted = self._hosted.get(index)
        if hosted is None or not hosted.partition.is_leader:
            return ApiError(
                ErrorCode.NOT_COORDINATOR, f"{self.topic}-{index} is not led by this broker"
            )
        if hosted.unavailable:
            return ApiError(
                ErrorCode.COORDINATOR_NOT_AVAILABLE,
                f"{self.topic}-{index} cannot be read: {hosted.unavailable}",
            )
        return ApiError(
            ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, f"{self.topic}-{index} is being loaded"
        )

    def _carry_out(self, hosted: _Hosted[S], decision: Decision, now_ms: int) -> None:
        if decision.records:
            try:
                self._append(hosted, decision, now_ms)
            except ApiError as refused:
                # The log refused a producer or a record, has too few replicas, or is no longer led here: nothing was
                # written, so there is nothing to wait for.
                told = ApiError(_TOLD.get(refused.code, refused.code), str(refused))
                for token, _ in decision.replies:
                    token(told)
                if decision.undo is not None:
                    self._carry_out(hosted, decision.undo(told, now_ms), now_ms)
                return
            except StorageError as failure:
                self._fail(hosted, decision.replies, failure)
                return
            if decision.replay is not None:
                decision.replay()
            else:
                for key, value in decision.records:
                    hosted.shard.replay(key, value, decision.transactional)
        self._reply(hosted, decision.replies)
        self._set_timer_soon(hosted)

    def _append(self, hosted: _Hosted[S], decision: Decision, now_ms: int) -> None:
        partition = hosted.partition
        if partition.leadership is not None:
            partition.check_in_sync()
        header, batch = encode(decision.records, decision.transactional, now_ms)
        if len(batch) > partition.log.max_message_bytes:
            self._check_sizes(partition, decision)
        validated: ValidatedBatch = tuple.__new__(
            ValidatedBatch, (header, memoryview(batch), NO_TIMESTAMP)
        )
        partition.append(validated, now_ms)

    def _check_sizes(self, partition: Partition, decision: Decision) -> None:
        """As in Kafka, nothing is remembered that is larger than a record of the topic may be."""
        limit = partition.log.max_message_bytes
        largest = max(len(key) + len(value or b"") for key, value in decision.records)
        if largest > limit:
            raise ApiError(
                ErrorCode.UNKNOWN_SERVER_ERROR,
                f"a record of {largest} bytes exceeds max.message.bytes={limit} of {self.topic}",
            )

    def _reply(self, hosted: _Hosted[S], replies: Sequence[tuple[Token, Any]]) -> None:
        partition = hosted.partition
        written = partition.log
        end = written.end_offset
        if written.high_watermark >= end and not hosted.waiting:
            for token, value in replies:
                token(value)
            return
        for token, value in replies:
            hosted.waiting.append((end, token, value))
        partition.when_committed(end, lambda error: self._committed(hosted, end, error))

    def _committed(self, hosted: _Hosted[S], end: int, error: int) -> None:
        while hosted.waiting and hosted.waiting[0][0] <= end:
            _, token, value = hosted.waiting.popleft()
            if error:
                value = ApiError(
                    _TOLD.get(error, ErrorCode.NOT_COORDINATOR), "the write was not committed"
                )
            token(value)

    def _set_timer_soon(self, hosted: _Hosted[S]) -> None:
        """When all that has arrived is decided: whoever asked need not wait for it, and once is enough."""
        if not hosted.sets_timer:
            hosted.sets_timer = True
            asyncio.get_running_loop().call_soon(self._set_timer, hosted)

    def _set_timer(self, hosted: _Hosted[S]) -> None:
        hosted.sets_timer = False
        if hosted.failed:
            return
        if hosted.shard.waits_for_quiet():
            hosted.quiet.watch()
        deadline_ms, timer_ms = hosted.shard.next_deadline_ms(), hosted.timer_ms
        if deadline_ms is None or (timer_ms is not None and timer_ms <= deadline_ms):
            # A timer that comes too early finds nothing due and is set again, now and then; to put it off as deadlines
            # are would take as long as many a request.
            return
        if hosted.timer is not None:
            hosted.timer.cancel()
        hosted.timer_ms = deadline_ms
        delay = max(0, deadline_ms - self._now_ms()) / 1000
        hosted.timer = asyncio.get_running_loop().call_later(delay, self._tick, hosted)

    def _clock_was_set(self, by_ms: int, now_ms: int) -> None:
        """Nobody's deadline comes sooner or later for it."""
        log.warning("clock was set, deadlines follow it", topic=self.topic, by_ms=by_ms)
        for hosted in self._hosted.values():
            if hosted.loaded:
                hosted.shard.clock_was_set(by_ms, now_ms)
                hosted.timer_ms = None
                # Not now: whoever has just read the clock may be about to decide.
                self._set_timer_soon(hosted)

    def _tick(self, hosted: _Hosted[S]) -> None:
        hosted.timer, hosted.timer_ms = None, None
        if hosted.failed:
            return
        if hosted.partition.is_under_min_isr:
            # What is due would be refused: it is put off as a whole, not decided and undone again and again.
            loop = asyncio.get_running_loop()
            hosted.timer = loop.call_later(_OUT_OF_SYNC_S, self._tick, hosted)
            return
        now_ms = self._now_ms()
        self._carry_out(hosted, hosted.shard.tick(now_ms), now_ms)

    def _quiet(self, hosted: _Hosted[S]) -> None:
        if hosted.shard.waits_for_quiet() and not hosted.partition.is_under_min_isr:
            now_ms = self._now_ms()
            self._carry_out(hosted, hosted.shard.quiet(now_ms), now_ms)

    def _fail(
        self, hosted: _Hosted[S], replies: Sequence[tuple[Token, Any]], failure: Exception
    ) -> None:
        """An append failed: the machine may have run ahead of its log, so it is loaded anew."""
        index = hosted.partition.tp.partition
        metrics.RELOADS.labels(topic=self.topic).value += 1
        log.warning("coordinator reloads", partition=hosted.partition.tp, reason=str(failure))
        gone = ApiError(ErrorCode.NOT_COORDINATOR, "the coordinator could not write; try again")
        self._discard(index)
        for token, _ in replies:
            token(gone)
        if self._is_still_led(hosted):
            fresh = self._hosted[index] = self._host(hosted.partition)
            self._tasks.spawn(self._load(fresh))

    def _discard(self, index: int) -> None:
        hosted = self._hosted.pop(index)
        hosted.failed = True
        hosted.quiet.stop()
        if hosted.timer is not None:
            hosted.timer.cancel()
        gone = ApiError(ErrorCode.NOT_COORDINATOR, f"{self.topic}-{index} has moved")
        waiting, hosted.waiting = hosted.waiting, deque()
        for token in (*(each[1] for each in waiting), *hosted.shard.parked()):
            token(gone)

    async def _load(self, hosted: _Hosted[S]) -> None:
        """Bring a new machine to the end of its log; while that cannot be read, try again now and then."""
        tp, began_ms, pause_s = hosted.partition.tp, self._now_ms(), _RETRY_S
        while not hosted.failed:
            try:
                await load(hosted.shard, hosted.partition.log, lambda: not hosted.failed)
                break
            except StorageError as failure:
                hosted.unavailable = str(failure)
                metrics.LOAD_FAILURES.labels(topic=tp.topic).value += 1
                log.error("coordinator cannot be loaded", partition=tp, reason=str(failure))
            except Exception:
                # A flaw of the machine: to try again is no use, and to say "loading" for ever would be a lie.
                hosted.unavailable = "a record upset the coordinator; its log says how"
                log.exception("coordinator cannot be loaded", partition=tp)
                return
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_RETRY_S)
            hosted.shard = self._make_shard(tp.partition)
        if hosted.failed:
            return
        hosted.shard.loaded(self._now_ms())
        hosted.loaded, hosted.unavailable = True, ""
        self._set_timer(hosted)
        took_ms = self._now_ms() - began_ms
        metrics.LOAD_SECONDS.labels(topic=tp.topic).observe(took_ms / 1000)
        log.debug("coordinator loaded", partition=tp, took_ms=took_ms)


def _append_together(partition: Partition, writes: Sequence[Repeated[Any]], now_ms: int) -> bool:
    """Append one batch; False if it cannot be, and then nothing has been."""
    batch = encode_together([write.record for write in writes], now_ms)
    if len(batch[1]) > partition.log.max_message_bytes:
        return False
    try:
        partition.append(batch, now_ms)
    except (ApiError, StorageError):
        return False
    return True

"""Fetch (api 1, v4-v18).

Versions: v7 sessions (KIP-227) · v9 leader epoch (KIP-320) · v11 rack · v12 flexible, diverging epoch · v13 topic ids ·
v15 replica state · v17 directory id · v18 high watermark of the asking replica.
A follower's fetch says how far it has come: that is what moves the high watermark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.base.errors import ApiError, StorageError
from ottla.broker import metrics
from ottla.broker.context import RequestContext
from ottla.broker.fetch_sessions import Key, Opened, Topic
from ottla.broker.leader_hints import hinted_nodes, leader_hint
from ottla.broker.reply import Buffers, CloseConnection, Pending, Piece, Reply
from ottla.broker.topic_views import Node
from ottla.cluster.image import NO_LEADER
from ottla.protocol.errors import ErrorCode
from ottla.protocol.fetch_frames import (
    FIRST_WITH_TOPIC_ID,
    FetchPartition,
    FetchRequest,
    PartitionData,
    encode_fetch_response,
    parse_fetch,
)
from ottla.replication.closest import closest_replica
from ottla.replication.follower_news import News
from ottla.replication.partition import Partition, error_code_of
from ottla.storage.fs import FileRegion

if TYPE_CHECKING:
    from asyncio import TimerHandle

    from ottla.storage.log_read import ColdRead

_DOES_NOT_EXIST = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)
_FIRST_WITH_RACK = 11
# Each borrows a descriptor until it has been read.
_MAX_COLD_READS = 64


def handle(context: RequestContext, frame: memoryview, pos: int) -> Reply:
    """Answer from the log at once, or when enough has come, or when the client's patience ends."""
    request = parse_fetch(frame, pos, context.version)
    broker = context.broker
    if request.replica_id >= 0 and request.replica_id != context.connection.peer:
        raise CloseConnection(f"a client fetches in the name of broker {request.replica_id}")
    opened = broker.fetch_sessions.open(
        request, context.version >= FIRST_WITH_TOPIC_ID, broker.now_ms()
    )
    if opened.error:
        return encode_fetch_response(
            context.correlation_id, context.version, opened.error, 0, (), 0
        )
    return _Fetch(context, request, opened).start()


class _Fetch:
    """One request under way; it may look at its partitions several times before it answers."""

    __slots__ = (
        "_cold", "_context", "_data", "_follower_id", "_kept", "_max_bytes", "_min_bytes", "_news", "_opened",
        "_partitions", "_pending", "_request", "_scheduled", "_size", "_timer", "_unknown", "_urgent",
    )  # fmt: skip

    def __init__(self, context: RequestContext, request: FetchRequest, opened: Opened) -> None:
        self._context = context
        self._request = request
        self._opened = opened
        self._follower_id = request.replica_id
        self._pending: Pending | None = None
        self._timer: TimerHandle | None = None
        self._scheduled = False
        self._max_bytes = min(request.max_bytes, context.broker.partitions.fetch_max_bytes)
        # More than may be sent would never be there.
        self._min_bytes = min(request.min_bytes, self._max_bytes)
        # Of a follower's fetch: what has changed, and what else must be looked at. None: everything.
        self._news: News | None = None
        self._kept: list[tuple[Topic, FetchPartition]] | None = None

    def start(self) -> Reply:
        if self._follower_id >= 0:
            self._open_news()
            self._note_progress()
        if self._kept is None:
            self._partitions = self._opened.partitions
        else:
            self._look_at_news()
        # Partitions that do not exist are told with the rest: they hurry the reply only when that is news.
        self._unknown = max(len(self._partitions) - 1, 0)
        self._collect()
        if self._cold:
            self._pending = Pending(blocking=False)
            self._read_cold()
        elif self._is_enough() or self._request.max_wait_ms <= 0 or self._is_about_nothing():
            return self._encode()
        else:
            self._wait()
        return self._pending

    def _open_news(self) -> None:
        broker, session = self._context.broker, self._opened.session
        session_id, now_ms = (session.id if session is not None else 0), broker.now_ms()
        news = broker.partitions.news.of(self._follower_id)
        if self._opened.incremental and news is not None and news.suffices(session_id, now_ms):
            self._news, self._kept = news, self._opened.named
        else:
            self._news = broker.partitions.news.begin(self._follower_id, session_id, now_ms)

    def _look_at_news(self) -> None:
        """Look at what has changed, what has waited longest first, and at what was kept."""
        session = self._opened.session
        if self._kept is None or self._news is None or session is None:
            return
        found: dict[Key, FetchPartition] = {}
        for partition in self._news.changed:
            key = session.key_of(partition.tp, partition.topic_id)
            if (wanted := session.partitions.get(key)) is not None:
                found[key] = wanted
        for topic, wanted in self._kept:
            found.setdefault((topic, wanted.partition), wanted)
        self._partitions = [(key[0], wanted) for key, wanted in found.items()]

    def _is_about_nothing(self) -> bool:
        """Whether nothing can come of waiting: a follower without news waits for some."""
        return not self._partitions and self._kept is None

    def _note_progress(self) -> None:
        """A follower holds everything below what it asks for, now that it asks.

        Of all partitions before any is read: what is committed by that may be answered at once by another append, and
        this very fetch must find it.
        """
        partitions, now_ms = self._context.broker.partitions, self._context.broker.now_ms()
        listed = self._opened.partitions if self._kept is None else self._kept
        for topic, wanted in listed:
            try:
                partition = partitions.leader(topic, wanted.partition)
                partition.check_leader_epoch(wanted.current_leader_epoch)
                diverging = partition.diverging_epoch(
                    wanted.last_fetched_epoch, wanted.fetch_offset
                )
                if diverging is None:
                    partition.replica_fetched(
                        self._follower_id,
                        self._request.replica_epoch,
                        wanted.fetch_offset,
                        now_ms,
                        wanted.log_start_offset,
                    )
            except (ApiError, StorageError):
                continue  # whoever reads it finds the same, and tells

    def _collect(self) -> None:
        """Read every partition once, in the client's order, within its limits."""
        self._data: list[tuple[str | bytes, PartitionData]] = []
        self._cold: list[tuple[int, Partition, ColdRead]] = []
        self._size, self._urgent = 0, False
        unknown = 0
        partitions = self._context.broker.partitions
        find = partitions.readable if self._may_follow else partitions.leader
        for topic, wanted in self._partitions:
            try:
                data = self._read(
                    find(topic, wanted.partition), wanted, self._max_bytes - self._size
                )
            except (ApiError, StorageError) as failure:
                data = PartitionData(wanted.partition, error_code_of(failure))
                if data.error in _DOES_NOT_EXIST:
                    unknown += 1
                else:
                    self._urgent = True
            self._size += len(data.records)
            self._data.append((topic, data))
        self._urgent |= unknown > self._unknown
        self._unknown = unknown

    def _is_enough(self) -> bool:
        return self._size >= self._min_bytes or self._urgent

    def _read(self, partition: Partition, wanted: FetchPartition, budget: int) -> PartitionData:
        partition.check_leader_epoch(wanted.current_leader_epoch)
        diverging = partition.diverging_epoch(wanted.last_fetched_epoch, wanted.fetch_offset)
        high_watermark = partition.high_watermark
        if self._follower_id >= 0 and self._context.broker.settings.prefers_closest_replica:
            # Those who read from followers see what is committed no later than others (KIP-392).
            leadership = partition.leadership
            self._urgent |= leadership is not None and leadership.tell(
                self._follower_id, high_watermark
            )
        stable = partition.last_stable_offset
        upper = self._upper(partition, high_watermark, stable)
        log_start = partition.log.start_offset
        if self._follower_id >= 0 and wanted.log_start_offset < log_start:
            self._urgent = True  # DeleteRecords is answered when all replicas in sync know
        if diverging is not None:
            self._urgent = True
            return PartitionData(
                wanted.partition, 0, high_watermark, stable, log_start, diverging_epoch=diverging
            )
        closest = self._closest(partition, wanted)
        if closest >= 0:
            self._urgent = True
            return PartitionData(
                wanted.partition,
                0,
                high_watermark,
                stable,
                log_start,
                preferred_read_replica=closest,
            )
        records: Piece = b""
        aborted: tuple[tuple[int, int], ...] | None = () if self._request.read_committed else None
        nothing_yet = self._size == 0 and not self._cold
        if wanted.fetch_offset == upper or self._is_held_back(partition):
            pass
        elif (budget > 0 or nothing_yet) and len(self._cold) < _MAX_COLD_READS:
            found = partition.read(
                wanted.fetch_offset,
                min(wanted.max_bytes, max(budget, 0)),
                upper,
                at_least_one=nothing_yet,
            )
            records = found.region
            if found.cold is not None:
                self._cold.append((len(self._data), partition, found.cold))
                self._size += min(wanted.max_bytes, max(budget, 0))  # at most; it is not read yet
            if aborted is not None and records:
                aborted = partition.aborted_in(found, wanted.fetch_offset, upper)
        return PartitionData(
            wanted.partition, 0, high_watermark, stable, log_start, records, aborted
        )

    @property
    def _may_follow(self) -> bool:
        """Whether a follower may answer, too (KIP-392): consumers of that version look for the closest replica."""
        return self._follower_id < 0 and self._context.version >= _FIRST_WITH_RACK

    def _closest(self, partition: Partition, wanted: FetchPartition) -> int:
        """The replica that a consumer had better ask; -1 if that is us."""
        broker, rack = self._context.broker, self._request.rack_id
        leadership = partition.leadership
        if not rack or leadership is None or not broker.settings.prefers_closest_replica:
            return NO_LEADER
        image, placed = broker.metadata.image, partition.placed
        return closest_replica(image, placed, leadership, rack, wanted.fetch_offset)

    def _is_held_back(self, partition: Partition) -> bool:
        """Whether the fetch is that of a replica which catches up, and is throttled (KIP-73)."""
        throttle = self._context.broker.partitions.throttle
        return self._follower_id >= 0 and throttle.holds_back(partition, self._follower_id)

    def _upper(self, partition: Partition, high_watermark: int, stable: int) -> int:
        """Consumers see what is committed; followers fetch what is to become so."""
        if self._follower_id >= 0:
            return partition.log.end_offset
        return stable if self._request.read_committed else high_watermark

    def _read_cold(self) -> None:
        """Go on beside the loop; what was found in the page cache is read before anything can happen to its files."""
        self._data = [(topic, _read_now(data)) for topic, data in self._data]
        self._context.go_on(self._finish_cold())

    async def _finish_cold(self) -> None:
        """Read from the disk in threads: nobody else waits for it."""
        broker = self._context.broker
        for position, partition, cold in self._cold:
            topic, data = self._data[position]
            try:
                records = await broker.logs.finish_read(partition.log, cold)
                data = data._replace(records=records)
                if data.aborted is not None:
                    data = _with_aborted(data, partition, cold)
            except StorageError as failure:
                data = PartitionData(data.partition, error_code_of(failure))
            self._data[position] = (topic, data)
        metrics.COLD_READS.value += len(self._cold)
        if self._pending is not None and not self._pending.done:
            self._pending.resolve(self._encode())

    def _wait(self) -> None:
        self._pending = Pending(blocking=False, on_cancel=self._stop_waiting)
        self._timer = self._context.broker.loop.call_later(
            self._request.max_wait_ms / 1000, self._answer
        )
        if self._news is not None:
            self._news.waiter = self
            self._keep_news()
            return
        for partition in self._hosted():
            partition.add_waiter(self)

    def _keep_news(self) -> None:
        """Everything was looked at: from now on only what changes, and what is to be told anyway."""
        session = self._opened.session
        if self._kept is None and self._opened.incremental and session is not None:
            told = zip(self._partitions, self._data, strict=True)
            self._kept = [
                listed
                for listed, (topic, data) in told
                if session.is_news((topic, data.partition), data) or self._is_left_out(listed, data)
            ]

    def _hosted(self) -> list[Partition]:
        find = self._context.broker.partitions.find
        found = (find(topic, wanted.partition) for topic, wanted in self._partitions)
        return [partition for partition in found if partition is not None]

    def wake(self) -> None:
        """Look again, once, after everything that this turn of the loop appends."""
        if not self._scheduled:
            self._scheduled = True
            self._context.broker.loop.call_soon(self._look_again)

    def _look_again(self) -> None:
        self._scheduled = False
        if self._pending is None or self._pending.done:
            return
        self._look_at_news()
        self._collect()
        if self._is_enough() or self._cold:
            self._complete()

    def _answer(self) -> None:
        """The client's patience has ended: give what there is."""
        if self._pending is not None and not self._pending.done:
            self._look_at_news()
            self._collect()
            self._complete()

    def _complete(self) -> None:
        self._stop_waiting()
        if self._cold:
            self._read_cold()
        elif self._pending is not None:
            self._pending.resolve(self._encode())

    def _stop_waiting(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
        if self._news is None:
            for partition in self._hosted():
                partition.remove_waiter(self)
        elif self._news.waiter is self:
            self._news.waiter = None

    def _encode(self) -> Buffers:
        session = self._opened.session
        partitions = self._context.broker.partitions
        find, throttle = partitions.find, partitions.throttle
        topics: dict[str | bytes, list[PartitionData]] = {}
        endpoints = self._name_leaders() if self._urgent else ()
        if self._news is not None:
            self._settle_news(self._news)
        for topic, data in self._data:
            if session is not None:
                key = (topic, data.partition)
                if self._opened.incremental and not session.is_news(key, data):
                    continue
                session.tell(key, data)
            if data.records and (partition := find(topic, data.partition)) is not None:
                partition.bytes_out.add(self._context.broker.now_ms(), len(data.records))
                if self._follower_id >= 0:
                    throttle.sent(partition, self._follower_id, len(data.records))
            topics.setdefault(topic, []).append(data)
        return encode_fetch_response(
            self._context.correlation_id,
            self._context.version,
            ErrorCode.NONE,
            session.id if session is not None else 0,
            topics.items(),
            len(topics),
            endpoints,
        )

    def _settle_news(self, news: News) -> None:
        """What is told now is no news any more; what could not be sent is, or becomes so."""
        find = self._context.broker.partitions.find
        for listed, (topic, data) in zip(self._partitions, self._data, strict=True):
            partition = find(topic, data.partition)
            if partition is None:
                continue
            if self._is_left_out(listed, data):
                news.changed.setdefault(partition)
            else:
                news.changed.pop(partition, None)

    def _is_left_out(self, listed: tuple[Topic, FetchPartition], data: PartitionData) -> bool:
        """Whether a follower was not sent what it lacks, for want of room or because it is held back."""
        if data.records or data.error or data.diverging_epoch is not None:
            return False
        partition = self._context.broker.partitions.find(listed[0], data.partition)
        return partition is not None and listed[1].fetch_offset < partition.log.end_offset

    def _name_leaders(self) -> list[Node]:
        """Say of partitions that moved who leads them; where those are reached."""
        image, leaders = self._context.broker.metadata.image, set()
        for place, (topic, data) in enumerate(self._data):
            hint = leader_hint(image, topic, data.partition, data.error)
            if hint is not None:
                leaders.add(hint[0])
                self._data[place] = topic, data._replace(current_leader=hint)
        return hinted_nodes(image, self._context.connection.listener, leaders)


def _with_aborted(data: PartitionData, partition: Partition, cold: ColdRead) -> PartitionData:
    """Say what was aborted of records from the disk; if they were deleted meanwhile nobody knows, and none are sent."""
    if not cold.is_within(partition.log):
        return data._replace(records=b"")
    return data._replace(aborted=partition.aborted_transactions(cold.offset, cold.end_bound))


def _read_now(data: PartitionData) -> PartitionData:
    try:
        if isinstance(data.records, FileRegion):
            return data._replace(records=data.records.read())
    except StorageError as failure:
        return PartitionData(data.partition, error_code_of(failure))
    return data

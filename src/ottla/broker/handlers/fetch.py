"""Fetch (api 1, v4-v18).

Versions: v7 sessions (KIP-227) · v9 leader epoch (KIP-320) · v11 rack · v12 flexible, diverging epoch · v13 topic ids ·
v15 replica state · v17 directory id · v18 high watermark of the asking replica.
Differs from Apache Kafka: rack is ignored, as every partition has one replica.
"""

from __future__ import annotations

from collections.abc import Sized
from typing import TYPE_CHECKING

from ottla.base.errors import ApiError, StorageError
from ottla.broker import metrics
from ottla.broker.context import RequestContext
from ottla.broker.fetch_sessions import Opened
from ottla.broker.reply import Buffers, Pending, Piece, Reply
from ottla.protocol.errors import ErrorCode
from ottla.protocol.fetch_frames import (
    FIRST_WITH_TOPIC_ID,
    FetchPartition,
    FetchRequest,
    PartitionData,
    encode_fetch_response,
    parse_fetch,
)
from ottla.replication.partition import Partition, error_code_of
from ottla.storage.fs import FileRegion

if TYPE_CHECKING:
    from asyncio import TimerHandle

    from ottla.storage.log_read import ColdRead


def handle(context: RequestContext, frame: memoryview, pos: int) -> Reply:
    """Answer from the log at once, or when enough has come, or when the client's patience ends."""
    request = parse_fetch(frame, pos, context.version)
    broker = context.broker
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
        "_cold", "_context", "_data", "_opened", "_pending", "_request", "_scheduled", "_size", "_timer", "_urgent",
    )  # fmt: skip

    def __init__(self, context: RequestContext, request: FetchRequest, opened: Opened) -> None:
        self._context = context
        self._request = request
        self._opened = opened
        self._pending: Pending | None = None
        self._timer: TimerHandle | None = None
        self._scheduled = False

    def start(self) -> Reply:
        self._collect()
        request = self._request
        if self._cold:
            self._pending = Pending(blocking=False)
            self._context.broker.tasks.spawn(self._finish_cold())
        elif (
            self._size >= request.min_bytes
            or self._urgent
            or request.max_wait_ms <= 0
            or not self._opened.partitions
        ):
            return self._encode()
        else:
            self._wait()
        return self._pending

    def _collect(self) -> None:
        """Read every partition once, in the client's order, within its limits."""
        self._data: list[tuple[str | bytes, PartitionData]] = []
        self._cold: list[tuple[int, ColdRead]] = []
        self._size, self._urgent = 0, False
        partitions = self._context.broker.partitions
        budget = min(self._request.max_bytes, partitions.fetch_max_bytes)
        for topic, wanted in self._opened.partitions:
            try:
                data = self._read(
                    partitions.leader(topic, wanted.partition), wanted, budget - self._size
                )
            except (ApiError, StorageError) as failure:
                data = PartitionData(wanted.partition, error_code_of(failure))
                self._urgent = True
            self._size += len(data.records)
            self._data.append((topic, data))

    def _read(self, partition: Partition, wanted: FetchPartition, budget: int) -> PartitionData:
        partition.check_leader_epoch(wanted.current_leader_epoch)
        high_watermark = partition.high_watermark
        stable = partition.last_stable_offset
        upper = stable if self._request.read_committed else high_watermark
        log_start = partition.log.start_offset
        diverging = partition.diverging_epoch(wanted.last_fetched_epoch, wanted.fetch_offset)
        if diverging is not None:
            self._urgent = True
            return PartitionData(
                wanted.partition, 0, high_watermark, stable, log_start, diverging_epoch=diverging
            )
        records: Piece = b""
        aborted: tuple[tuple[int, int], ...] | None = () if self._request.read_committed else None
        nothing_yet = self._size == 0 and not self._cold
        if wanted.fetch_offset == upper:
            pass
        elif budget > 0 or nothing_yet:
            found = partition.read(
                wanted.fetch_offset,
                min(wanted.max_bytes, max(budget, 0)),
                upper,
                at_least_one=nothing_yet,
            )
            records = found.region
            if found.cold is not None:
                self._cold.append((len(self._data), found.cold))
                self._size += min(wanted.max_bytes, max(budget, 0))  # at most; it is not read yet
            elif records:
                partition.bytes_out.add(self._context.broker.now_ms(), len(records))
            if self._request.read_committed and (records or found.cold):
                aborted = partition.aborted_transactions(wanted.fetch_offset, upper)
        return PartitionData(
            wanted.partition, 0, high_watermark, stable, log_start, records, aborted
        )

    async def _finish_cold(self) -> None:
        """Read from the disk in threads: nobody else waits for it."""
        broker = self._context.broker
        # What was found in the page cache is read before anything else can happen to its files.
        self._data = [(t, d._replace(records=_read_now(d.records))) for t, d in self._data]
        for position, cold in self._cold:
            topic, data = self._data[position]
            try:
                records = await broker.loop.run_in_executor(broker.executor, cold.read)
                data = data._replace(records=records)
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
        for partition in self._hosted():
            partition.add_waiter(self)

    def _hosted(self) -> list[Partition]:
        find = self._context.broker.partitions.find
        found = (find(topic, wanted.partition) for topic, wanted in self._opened.partitions)
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
        self._collect()
        if self._size >= self._request.min_bytes or self._urgent or self._cold:
            self._complete()

    def _answer(self) -> None:
        """The client's patience has ended: give what there is."""
        if self._pending is not None and not self._pending.done:
            self._collect()
            self._complete()

    def _complete(self) -> None:
        self._stop_waiting()
        if self._cold:
            self._context.broker.tasks.spawn(self._finish_cold())
        elif self._pending is not None:
            self._pending.resolve(self._encode())

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        for partition in self._hosted():
            partition.remove_waiter(self)

    def _encode(self) -> Buffers:
        session = self._opened.session
        topics: dict[str | bytes, list[PartitionData]] = {}
        for topic, data in self._data:
            if session is not None:
                key = (topic, data.partition)
                if self._opened.incremental and not session.is_news(key, data):
                    continue
                session.tell(key, data)
            topics.setdefault(topic, []).append(data)
        return encode_fetch_response(
            self._context.correlation_id,
            self._context.version,
            ErrorCode.NONE,
            session.id if session is not None else 0,
            topics.items(),
            len(topics),
        )


def _read_now(records: Sized) -> Sized:
    return records.read() if isinstance(records, FileRegion) else records

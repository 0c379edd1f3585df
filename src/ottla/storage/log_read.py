"""Reading a log: by offset, by time, and the aborted transactions of a range.

Functions over a Log, beside it only so that neither file grows too long.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ottla.protocol.records.batch import HEADER_SIZE, BatchHeader, Buffer, parse_header
from ottla.protocol.records.record import first_record_at_or_after, max_timestamp_record
from ottla.storage import fs
from ottla.storage.segment import Segment
from ottla.storage.txn_index import AbortedTxn

if TYPE_CHECKING:
    from ottla.storage.log import Log


class ColdRead:
    """A read that has to wait for the disk, to be done in a thread.

    It owns a descriptor, so the file stays readable even if retention deletes it meanwhile.
    """

    __slots__ = ("_at_least_one", "_fd", "_max_bytes", "_segment", "_upper", "end_bound", "offset")

    def __init__(
        self,
        segment: Segment,
        offset: int,
        max_bytes: int,
        upper: tuple[int, int],
        at_least_one: bool,
    ) -> None:
        self._segment = segment
        self.offset = offset
        # Known once it has been read.
        self.end_bound = upper[0]
        self._max_bytes = max_bytes
        self._upper = upper
        self._at_least_one = at_least_one
        self._fd = fs.dup(segment.fd)

    def read(self) -> bytes:
        """The batches; to be called once, in a thread."""
        try:
            data, end_bound = self._segment.read_in_thread(
                self._fd, self.offset, self._max_bytes, self._upper, self._at_least_one
            )
            self.end_bound = min(end_bound, self.end_bound)
            return data
        finally:
            self.close()

    def is_within(self, log: "Log") -> bool:
        """Return whether the log still has what was read, and so what it knows of aborted transactions in it."""
        return self._segment in log.segments

    def close(self) -> None:
        """Give the descriptor back when the read is not wanted any more."""
        if self._fd >= 0:
            fs.close(self._fd)
            self._fd = -1

    def __del__(self) -> None:
        self.close()


class LogRead(NamedTuple):
    """What a read found: where the batches lie, good until the callback returns, or how to fetch them."""

    region: fs.FileRegion
    cold: ColdRead | None = None
    segment: Segment | None = None
    segment_end: int = 0

    @property
    def data(self) -> bytes:
        """The batches themselves, if they are not cold."""
        return self.region.read()

    @property
    def end_bound(self) -> int:
        """An offset that nothing of it reaches, a few batches above at most."""
        if self.segment is None:
            return self.segment_end
        return self.segment.end_bound(self.region.end, self.segment_end)


EMPTY = LogRead(fs.FileRegion(-1, 0, 0))

Found = tuple[int, int, int]
"""(offset, timestamp, leader epoch) of a record."""

Scan = Callable[[], Found | None]


def read(log: "Log", offset: int, max_bytes: int, upper_offset: int, at_least_one: bool) -> LogRead:
    """Whole batches from one segment, starting with the one that holds the offset."""
    if offset >= upper_offset:
        return EMPTY
    for number in range(log.segment_number(offset), len(log.segments)):
        segment = log.segments[number]
        upper = upper_offset, log.segment_end(number)
        try:
            region = segment.read(offset, max_bytes, upper, at_least_one)
        except fs.WouldBlock:
            cold = ColdRead(segment, offset, max_bytes, upper, at_least_one)
            return LogRead(EMPTY.region, cold)
        if region is not None:
            return LogRead(region, None, segment, upper[1])
    return EMPTY


def scans_for_time(log: "Log", timestamp_ms: int, upper_offset: int) -> Iterator[Scan]:
    """What to look through, one after another, for the first record not older than a time.

    Finding the batch is quick. Going through its records is not: call each scan in a thread.
    """
    start = offset = log.start_offset
    # Between two scans compaction may swap segments: nothing but an offset is kept.
    while found := _batch_not_older(log, offset, timestamp_ms, upper_offset):
        batch, offset = found
        yield partial(_first_not_older, batch, timestamp_ms, start, upper_offset)


def scans_for_max_timestamp(log: "Log", upper_offset: int) -> Iterator[Scan]:
    """What to look through, in a thread, for the first record with the largest timestamp."""
    candidates = [segment for segment in log.segments if segment.size_bytes]
    if not candidates:
        return
    segment = max(candidates, key=lambda each: (each.largest_timestamp(), -each.base_offset))
    if segment.max_timestamp >= 0:
        position = segment.locate(segment.max_timestamp_offset, fs.pread, segment.fd)
        batch = fs.pread(segment.fd, _header_at(segment, position).size_bytes, position)
        yield partial(_with_largest_timestamp, batch, log.start_offset, upper_offset)


def _batch_not_older(
    log: "Log", offset: int, timestamp_ms: int, upper_offset: int
) -> tuple[Buffer, int] | None:
    """The first batch from an offset on that may hold such a record, and the offset behind it."""
    for number in range(log.segment_number(offset), len(log.segments)):
        segment = log.segments[number]
        if not segment.size_bytes or segment.largest_timestamp() < timestamp_ms:
            continue
        from_offset = max(segment.time_index.lookup(timestamp_ms), offset)
        position = segment.locate(from_offset, fs.pread, segment.fd)
        while position < segment.size_bytes:
            header = _header_at(segment, position)
            if header.base_offset >= upper_offset:
                return None
            if header.max_timestamp >= timestamp_ms:
                batch = fs.pread(segment.fd, header.size_bytes, position)
                return batch, header.last_offset + 1
            position += header.size_bytes
    return None


def _first_not_older(batch: Buffer, timestamp_ms: int, start: int, upper: int) -> Found | None:
    found = first_record_at_or_after(batch, timestamp_ms, 0, start)
    if found is None or found[0] >= upper:
        return None
    return (*found, parse_header(batch).leader_epoch)


def _with_largest_timestamp(batch: Buffer, start: int, upper: int) -> Found | None:
    found = max_timestamp_record(batch)
    if found is None or not start <= found[0] < upper:
        return None
    return (*found, parse_header(batch).leader_epoch)


def may_have_aborted(log: "Log", fetch_offset: int) -> bool:
    """Return whether a segment from an offset on knows of an aborted transaction; in most logs none does."""
    for number in range(log.segment_number(fetch_offset), len(log.segments)):
        if log.segments[number].txn_index.entries:
            return True
    return False


def aborted_transactions(log: "Log", fetch_offset: int, upper_offset: int) -> list[AbortedTxn]:
    """The aborted transactions within a range of offsets, by their first offset."""
    found: list[AbortedTxn] = []
    for segment in log.segments[log.segment_number(fetch_offset) :]:
        here, complete = segment.txn_index.collect(fetch_offset, upper_offset)
        found += here
        if complete:
            break
    return sorted(found, key=lambda aborted: aborted.first_offset)


def _header_at(segment: Segment, position: int) -> BatchHeader:
    return parse_header(fs.pread(segment.fd, HEADER_SIZE, position))

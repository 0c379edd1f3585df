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

    __slots__ = ("_at_least_one", "_fd", "_max_bytes", "_offset", "_segment", "_upper")

    def __init__(
        self,
        segment: Segment,
        offset: int,
        max_bytes: int,
        upper: tuple[int, int],
        at_least_one: bool,
    ) -> None:
        self._segment = segment
        self._offset = offset
        self._max_bytes = max_bytes
        self._upper = upper
        self._at_least_one = at_least_one
        self._fd = fs.dup(segment.fd)

    def read(self) -> Buffer:
        """The batches; to be called once, in a thread."""
        try:
            data = self._segment.read_in_thread(
                self._fd, self._offset, self._max_bytes, self._upper, self._at_least_one
            )
        finally:
            self.close()
        return data if data is not None else b""

    def close(self) -> None:
        """Give the descriptor back when the read is not wanted any more."""
        if self._fd >= 0:
            fs.close(self._fd)
            self._fd = -1

    def __del__(self) -> None:
        self.close()


class LogRead(NamedTuple):
    """What a read found: the batches, or how to fetch them in a thread."""

    data: Buffer
    cold: ColdRead | None = None


EMPTY = LogRead(b"")

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
            data = segment.read(offset, max_bytes, upper, at_least_one)
        except fs.WouldBlock:
            return LogRead(b"", ColdRead(segment, offset, max_bytes, upper, at_least_one))
        if data is not None:
            return LogRead(data)
    return EMPTY


def scans_for_time(log: "Log", timestamp_ms: int, upper_offset: int) -> Iterator[Scan]:
    """What to look through, one after another, for the first record not older than a time.

    Finding the batch is quick. Going through its records is not: call each scan in a thread.
    """
    start = log.start_offset
    for number in range(log.segment_number(start), len(log.segments)):
        segment = log.segments[number]
        if not segment.size_bytes or segment.largest_timestamp() < timestamp_ms:
            continue
        from_offset = max(segment.time_index.lookup(timestamp_ms), start)
        position = segment.locate(from_offset, fs.pread, segment.fd)
        while position < segment.size_bytes:
            header = _header_at(segment, position)
            if header.base_offset >= upper_offset:
                return
            if header.max_timestamp >= timestamp_ms:
                batch = fs.pread(segment.fd, header.size_bytes, position)
                yield partial(_first_not_older, batch, timestamp_ms, start, upper_offset)
            position += header.size_bytes


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

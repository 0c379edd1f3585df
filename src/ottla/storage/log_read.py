"""Reading a log: by offset, by time, and the aborted transactions of a range.

Functions over a Log, beside it only so that neither file grows too long.
"""

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


def offset_for_time(
    log: "Log", timestamp_ms: int, upper_offset: int
) -> tuple[int, int, int] | None:
    """(offset, timestamp, leader epoch) of the first record not older than a time."""
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
                return None
            if header.max_timestamp >= timestamp_ms:
                batch = fs.pread(segment.fd, header.size_bytes, position)
                found = first_record_at_or_after(batch, timestamp_ms, 0, start)
                if found is not None:
                    return (*found, header.leader_epoch) if found[0] < upper_offset else None
            position += header.size_bytes
    return None


def max_timestamp_offset(log: "Log", upper_offset: int) -> tuple[int, int, int] | None:
    """(offset, timestamp, leader epoch) of the first record with the largest timestamp."""
    candidates = [segment for segment in log.segments if segment.size_bytes]
    if not candidates:
        return None
    segment = max(candidates, key=lambda each: (each.largest_timestamp(), -each.base_offset))
    if segment.max_timestamp < 0:
        return None
    position = segment.locate(segment.max_timestamp_offset, fs.pread, segment.fd)
    header = _header_at(segment, position)
    batch = fs.pread(segment.fd, header.size_bytes, position)
    found = max_timestamp_record(batch)
    if found is None or not log.start_offset <= found[0] < upper_offset:
        return None
    return (*found, header.leader_epoch)


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

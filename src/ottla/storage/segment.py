"""One .log file with its indexes: the only place that knows where bytes lie.

    00000000000000001000.log        batch | batch | batch ...      as they came from the producer
                                    0       812     17,204         position in the file
    00000000000000001000.index      (rel. last offset, position)   one for every 4 KB or so of log
    00000000000000001000.timeindex  (largest timestamp, rel. offset)
    00000000000000001000.txnindex   aborted transactions           only when there are any

The name is the base offset: no offset in the file is below it. Positions are looked up in a small
table of batch boundaries that recent reads left behind, else in the offset index and then by
walking headers. A read on the loop uses bytes that this process has just written, or asks the
kernel not to wait (RWF_NOWAIT); WouldBlock then sends it to a thread with a descriptor of its own.
"""

import struct
from typing import NamedTuple

from ottla.base.errors import CorruptLog, DiskFull
from ottla.base.units import MiB
from ottla.protocol.records.batch import HEADER_SIZE, LOG_OVERHEAD, Buffer
from ottla.storage import fs
from ottla.storage.offset_index import OffsetIndex
from ottla.storage.time_index import TimeIndex
from ottla.storage.txn_index import TxnIndex

LOG_SUFFIX = ".log"
INDEX_SUFFIXES = (".index", ".timeindex", ".txnindex")
MAX_RELATIVE_OFFSET = 2**31 - 1

_RECENT_BYTES = 8 * MiB
_WALK_BYTES = 4096
_MAX_BOUNDARIES = 64
_FEW_BATCHES = 8
_PROBE = struct.Struct(">qi11xi")  # base offset, length, last offset delta
_probe = _PROBE.unpack_from


class _Source(NamedTuple):
    """Where a read looks at headers, and whether it may leave boundaries behind for the next."""

    fd: int
    read_at: fs.ReadAt
    remember: bool


def file_prefix(directory: str, base_offset: int) -> str:
    """The path of a segment's files without their suffix."""
    return f"{directory}/{base_offset:020d}"


class Segment:
    """One segment of a log."""

    __slots__ = (
        "_boundaries",
        "_bytes_since_entry",
        "_fd",
        "_prefix",
        "_written_from",
        "base_offset",
        "created_ms",
        "entry_count",
        "first_timestamp",
        "max_timestamp",
        "max_timestamp_offset",
        "offset_index",
        "size_bytes",
        "time_index",
        "touched",
        "txn_index",
    )

    def __init__(self, directory: str, base_offset: int, size_bytes: int, created_ms: int) -> None:
        self._prefix = prefix = file_prefix(directory, base_offset)
        self.base_offset = base_offset
        self.size_bytes = size_bytes
        self.created_ms = created_ms
        self.entry_count = 0
        self.first_timestamp: int | None = None
        self.max_timestamp = -1
        self.max_timestamp_offset = base_offset
        self.offset_index = OffsetIndex(f"{prefix}.index", base_offset)
        self.time_index = TimeIndex(f"{prefix}.timeindex", base_offset)
        self.txn_index = TxnIndex(f"{prefix}.txnindex", base_offset)
        self.touched = False
        self._fd = -1
        self._bytes_since_entry = 0
        self._written_from = size_bytes
        self._boundaries: dict[int, int] = {}

    @classmethod
    def create(cls, directory: str, base_offset: int, now_ms: int) -> "Segment":
        """Make an empty segment file, ready for appends."""
        segment = cls(directory, base_offset, 0, now_ms)
        segment._fd = fs.open_file(segment.path, create=True)
        fs.truncate(segment._fd, 0)
        segment.reset_indexes()
        return segment

    @property
    def path(self) -> str:
        """Where the .log file is."""
        return self._prefix + LOG_SUFFIX

    @property
    def paths(self) -> list[str]:
        """Every file that may belong to the segment."""
        return [self._prefix + suffix for suffix in (LOG_SUFFIX, *INDEX_SUFFIXES)]

    @property
    def fd(self) -> int:
        """The open .log file."""
        if self._fd < 0:
            self._fd = fs.open_file(self.path)
        self.touched = True
        return self._fd

    def write(self, data: Buffer) -> int:
        """Append bytes with one system call and return where they begin; all of them or none."""
        position = self.size_bytes
        try:
            fs.write_at(self._fd if self._fd >= 0 else self.fd, data, position)
        except DiskFull:
            fs.truncate(self._fd, position)
            raise
        self.size_bytes = position + len(data)
        return position

    def index(
        self, position: int, size: int, last_offset: int, max_timestamp: int, interval: int
    ) -> None:
        """Note a batch that has been written at a position, in the indexes when it is due."""
        if max_timestamp > self.max_timestamp:
            self.max_timestamp = max_timestamp
            self.max_timestamp_offset = last_offset
        if self._bytes_since_entry > interval:
            self.offset_index.append(last_offset, position)
            self.time_index.maybe_append(self.max_timestamp, self.max_timestamp_offset)
            self._bytes_since_entry = 0
            self.entry_count += 1
        self._bytes_since_entry += size
        if position == 0:
            self.first_timestamp = max_timestamp

    def largest_timestamp(self) -> int:
        """The largest timestamp of the segment, or when it was last written if it has none."""
        if self.max_timestamp < 0:
            was_loaded = self.time_index.loaded
            self.max_timestamp, self.max_timestamp_offset = self.time_index.last()
            if not was_loaded:
                self.time_index.unload()
        return self.max_timestamp if self.max_timestamp >= 0 else fs.modified_ms(self.path)

    def read_largest_timestamp(self) -> tuple[int, int]:
        """The largest timestamp and its offset as the time index has them; for a thread, since the disk may be cold."""
        return TimeIndex(self.time_index.path, self.base_offset).last()

    def learn_largest_timestamp(self, timestamp: int, offset: int) -> None:
        """Remember what a thread has read, unless it is known by now."""
        if self.max_timestamp < 0:
            self.max_timestamp, self.max_timestamp_offset = timestamp, offset

    def waited_ms(self, now_ms: int, max_timestamp: int) -> int:
        """How long the segment has waited to be rolled, by its records' clock if they have one."""
        first = self.first_timestamp
        if first is None:
            first = self._read_first_timestamp()
        return max_timestamp - first if first >= 0 else now_ms - self.created_ms

    def locate(self, offset: int, read_at: fs.ReadAt, fd: int, *, remember: bool = True) -> int:
        """The position of the first batch that ends at or above an offset, else the size."""
        position = self._boundaries.get(offset)
        if position is not None:
            return position
        position = self.offset_index.lookup(offset)
        size = self.size_bytes
        chunk: Buffer = b""
        at = 0
        while position < size:
            if at + HEADER_SIZE > len(chunk):
                chunk = read_at(fd, min(_WALK_BYTES, size - position), position)
                at = 0
            base_offset, length, delta = self._probe_batch(chunk, at, position)
            if base_offset + delta >= offset:
                break
            at += length + LOG_OVERHEAD
            position += length + LOG_OVERHEAD
        if remember:
            self.remember(offset, position)
        return position

    def read(
        self, offset: int, max_bytes: int, upper: tuple[int, int], at_least_one: bool
    ) -> fs.FileRegion | None:
        """Where whole batches lie, from the one that holds an offset; WouldBlock if not cached.

        `upper` is (the offset to stop below, the offset behind the segment's last batch). None
        when no batch of the segment reaches the offset: the next one holds it.
        """
        if not self.offset_index.loaded:
            self.offset_index.load(wait=False)
        source = _Source(self.fd, self._read_resident, True)
        found = self._find(offset, max_bytes, upper, at_least_one, source)
        if found is None:
            return None
        position, length = found
        if length and not self._is_recent(position):
            fs.check_resident(source.fd, length, position)
        return fs.FileRegion(source.fd, length, position)

    def read_in_thread(
        self, fd: int, offset: int, max_bytes: int, upper: tuple[int, int], at_least_one: bool
    ) -> tuple[bytes, int]:
        """The batches, and the bound of their end; waits for the disk, through a descriptor that the caller owns."""
        found = self._find(offset, max_bytes, upper, at_least_one, _Source(fd, fs.pread, False))
        if found is None:
            return b"", upper[1]
        position, length = found
        return fs.pread(fd, length, position), self.end_bound(position + length, upper[1])

    def end_bound(self, position: int, end_offset: int) -> int:
        """An offset that nothing reaches which ends at a position: not far above, and never below what does.

        `end_offset` is the one behind the segment's last batch.
        """
        if position >= self.size_bytes:
            return end_offset
        bound = self.offset_index.end_at_or_above(position)
        return end_offset if bound is None else min(bound, end_offset)

    def remember(self, offset: int, position: int) -> None:
        """Keep a boundary between batches for the reads that will likely begin or end there."""
        if len(self._boundaries) >= _MAX_BOUNDARIES:
            self._boundaries.clear()
        self._boundaries[offset] = position

    def collect_garbage(self) -> None:
        """Give back the descriptor and the indexes of a sealed segment nobody has read lately."""
        if self.touched:
            self.touched = False
            return
        self.offset_index.unload()
        self.time_index.unload()
        self._boundaries.clear()
        self.close()

    def truncate_to(self, offset: int) -> None:
        """Cut off the batches that end at or above an offset."""
        position = self.locate(offset, fs.pread, self.fd, remember=False)
        self.offset_index.truncate_to(offset)
        self.time_index.truncate_to(offset)
        self.txn_index.truncate_to(offset)
        fs.truncate(self.fd, position)
        self.size_bytes = position
        self._written_from = min(self._written_from, position)
        self._boundaries.clear()
        self.restore_tail()
        if position == 0:
            self.first_timestamp = None

    def restore_tail(self) -> int:
        """Set what the indexes do not say by walking the batches behind their last entry.

        Returns the offset behind the last batch. Opens the indexes for appending.
        """
        for index in (self.offset_index, self.time_index, self.txn_index):
            index.make_writable()
        self.entry_count = self.offset_index.count
        position = self.offset_index.entry(-1)[1] if self.offset_index.count else 0
        if 0 < self.size_bytes <= position:
            raise CorruptLog(f"{self.path}: the index goes on behind the last batch")
        self._bytes_since_entry = self.size_bytes - position
        self.max_timestamp, self.max_timestamp_offset = self.time_index.last()
        end_offset = self.base_offset
        while position < self.size_bytes:
            header = fs.pread(self.fd, HEADER_SIZE, position)
            base_offset, length, delta = self._probe_batch(header, 0, position)
            end_offset = base_offset + delta + 1
            (timestamp,) = struct.unpack_from(">q", header, 35)
            if timestamp > self.max_timestamp:
                self.max_timestamp, self.max_timestamp_offset = timestamp, end_offset - 1
            position += length + LOG_OVERHEAD
        if position > self.size_bytes:
            raise CorruptLog(f"{self.path}: the last batch is torn")
        return end_offset

    def resume_at(self, position: int) -> None:
        """Go on indexing with the batch at a position, whose entry is the last of the index."""
        self.max_timestamp, self.max_timestamp_offset = self.time_index.last()
        self.entry_count = self.offset_index.count
        self._bytes_since_entry = 0

    def reset_indexes(self) -> None:
        """Begin empty indexes."""
        self.offset_index.reset()
        self.time_index.reset()
        self.txn_index.reset()
        self.max_timestamp, self.max_timestamp_offset = -1, self.base_offset
        self._bytes_since_entry = self.entry_count = 0
        self._boundaries.clear()

    def flush_indexes(self, *, final: bool = False) -> list[str]:
        """Write the index entries out; with final also the segment's largest timestamp.

        Returns the files that changed and are to be synced.
        """
        if final and self.max_timestamp >= 0:
            self.time_index.maybe_append(self.max_timestamp, self.max_timestamp_offset)
        indexes = (self.offset_index, self.time_index, self.txn_index)
        return [index.path for index in indexes if index.flush()]

    def seal(self) -> None:
        """Finish the segment: it takes no more appends."""
        self.flush_indexes(final=True)
        self.offset_index.seal()
        self.time_index.seal()
        self.txn_index.seal()

    def close(self) -> None:
        """Give back the descriptor; a later read opens it again."""
        if self._fd >= 0:
            fs.close(self._fd)
            self._fd = -1

    def rename(self, suffix: str) -> list[str]:
        """Give every file of the segment another suffix and return the new paths."""
        return [
            path + suffix for path in self.paths if fs.rename(path, path + suffix, missing_ok=True)
        ]

    def _find(
        self,
        offset: int,
        max_bytes: int,
        upper: tuple[int, int],
        at_least_one: bool,
        source: _Source,
    ) -> tuple[int, int] | None:
        """The position and length of the batches to read; None if the next segment has them."""
        upper_offset, end_offset = upper
        fd, read_at, remember = source
        size = self.size_bytes
        start = self.locate(offset, read_at, fd, remember=remember)
        stop = size
        if upper_offset < end_offset:
            stop = self.locate(upper_offset, read_at, fd, remember=remember)
        if start >= stop:
            return (start, 0) if start < size else None
        length = min(stop - start, max(max_bytes, 0))
        if length < HEADER_SIZE or start + length < stop:
            return start, self._part(start, length, stop, at_least_one, source)
        if stop == size and remember:
            self.remember(end_offset, size)
        return start, length

    def _part(self, start: int, length: int, stop: int, at_least_one: bool, source: _Source) -> int:
        """How much of the length is whole batches, found from the nearest index entry."""
        head = source.read_at(source.fd, min(_WALK_BYTES, stop - start), start)
        first = self._probe_batch(head, 0, start)[1] + LOG_OVERHEAD
        if first > length:
            return min(first, stop - start) if at_least_one else 0
        at = start
        if first * _FEW_BATCHES < length:
            at = max(self.offset_index.batch_at_or_below(start + length), start)
        end, next_offset = self._whole_batches(at, start + length, source.read_at, source.fd)
        if source.remember and next_offset >= 0:
            self.remember(next_offset, end)
        return end - start

    def _whole_batches(
        self, position: int, stop: int, read_at: fs.ReadAt, fd: int
    ) -> tuple[int, int]:
        """Where the last batch that ends by `stop` does, and the offset behind it if it was met."""
        next_offset = -1
        chunk: Buffer = b""
        at = 0
        while position + HEADER_SIZE <= stop:
            if at + HEADER_SIZE > len(chunk):
                chunk = read_at(fd, min(_WALK_BYTES, stop - position), position)
                at = 0
            base_offset, length, delta = self._probe_batch(chunk, at, position)
            if position + length + LOG_OVERHEAD > stop:
                break
            at += length + LOG_OVERHEAD
            position += length + LOG_OVERHEAD
            next_offset = base_offset + delta + 1
        return position, next_offset

    def _probe_batch(self, data: Buffer, at: int, position: int) -> tuple[int, int, int]:
        if at + HEADER_SIZE > len(data):
            raise CorruptLog(f"{self.path}: torn batch at {position}")
        base_offset, length, delta = probe = _probe(data, at)
        if length < HEADER_SIZE - LOG_OVERHEAD or delta < 0 or base_offset < self.base_offset:
            raise CorruptLog(f"{self.path}: no batch at position {position}; restore it or restart")
        return probe

    def _is_recent(self, position: int) -> bool:
        """Whether this process has written it lately, so that it surely is in the page cache."""
        return position >= self._written_from and position >= self.size_bytes - _RECENT_BYTES

    def _read_resident(self, fd: int, length: int, position: int) -> bytes | bytearray:
        if self._is_recent(position):
            return fs.pread(fd, length, position)
        return fs.pread_nowait(fd, length, position)

    def _read_first_timestamp(self) -> int:
        if self.size_bytes < HEADER_SIZE:
            return -1
        header = fs.pread(self.fd, HEADER_SIZE, 0)
        timestamp: int = struct.unpack_from(">q", header, 35)[0]
        self.first_timestamp = timestamp
        return timestamp

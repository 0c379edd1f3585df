"""A segment that compaction writes beside the log, as files with the suffix .cleaned."""

import os

from ottla.base.units import MiB
from ottla.protocol.records.batch import Buffer
from ottla.storage import fs
from ottla.storage.offset_index import OffsetIndex
from ottla.storage.segment import INDEX_SUFFIXES, LOG_SUFFIX, file_prefix
from ottla.storage.time_index import TimeIndex
from ottla.storage.txn_index import AbortedTxn, TxnIndex

CLEANED_SUFFIX = ".cleaned"

_WRITE_BYTES = MiB
# Synced in small portions, lest one large sync at the end holds up those of the broker.
_SYNC_BYTES = 16 * MiB


class CleanedSegment:
    """Batches appended in order, with the indexes that Segment would have written."""

    def __init__(self, directory: str, base_offset: int, index_interval_bytes: int) -> None:
        self.base_offset = base_offset
        self.size_bytes = 0
        prefix = file_prefix(directory, base_offset)
        self._paths = [prefix + each + CLEANED_SUFFIX for each in (LOG_SUFFIX, *INDEX_SUFFIXES)]
        fs.unlink(self._paths)
        self._fd = fs.open_file(self._paths[0], create=True)
        self._offset_index = OffsetIndex(self._paths[1], base_offset, bytearray())
        self._time_index = TimeIndex(self._paths[2], base_offset, bytearray())
        self._txn_index = TxnIndex(self._paths[3], base_offset, bytearray())
        self._interval = index_interval_bytes
        self._bytes_since_entry = 0
        self._latest = -1, base_offset
        self._pending: list[Buffer] = []
        self._pending_bytes = 0
        self._written = self._synced = 0

    def append(self, batch: Buffer, last_offset: int, max_timestamp: int) -> None:
        """Add a batch behind the others."""
        if max_timestamp > self._latest[0]:
            self._latest = max_timestamp, last_offset
        if self._bytes_since_entry > self._interval:
            self._offset_index.append(last_offset, self.size_bytes)
            self._time_index.maybe_append(*self._latest)
            self._bytes_since_entry = 0
        size = len(batch)
        self._bytes_since_entry += size
        self.size_bytes += size
        self._pending.append(batch)
        self._pending_bytes += size
        if self._pending_bytes >= _WRITE_BYTES:
            self._write()

    def note_aborted(self, aborted: AbortedTxn) -> None:
        """Keep an aborted transaction, whose marker is in this segment, in the index."""
        self._txn_index.append(aborted)

    def finish(self, modified_ms: int) -> None:
        """Make every file durable; the time of the last write stays that of the old segment.

        Retention goes by that time where records have no timestamps.
        """
        self._write()
        if self._latest[0] >= 0:
            self._time_index.maybe_append(*self._latest)
        for index in (self._offset_index, self._time_index, self._txn_index):
            index.flush()
            fs.sync_path(index.path)
        fs.datasync(self._fd)
        os.utime(self._fd, ns=(modified_ms * 1_000_000, modified_ms * 1_000_000))
        fs.close(self._fd)

    def discard(self) -> None:
        """Remove the files again."""
        fs.close(self._fd)
        fs.unlink(self._paths)

    def _write(self) -> None:
        data = b"".join(self._pending)
        self._pending.clear()
        self._pending_bytes = 0
        if data:
            fs.write_at(self._fd, data, self._written)
            self._written += len(data)
        if self._written - self._synced >= _SYNC_BYTES:
            fs.datasync(self._fd)
            self._synced = self._written

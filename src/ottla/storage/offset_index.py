"""The offset index: where in the .log file to start looking for an offset.

An entry is (i32 last offset of a batch relative to the segment's base, i32 position where that
batch begins), one for about every index.interval.bytes of log, both columns ascending: what
Kafka's LogSegment.append writes and DumpLogSegments checks.
"""

import struct
from bisect import bisect_left, bisect_right

from ottla.storage.index_file import IndexFile

_ENTRY = struct.Struct(">iI")
_pack = _ENTRY.pack
_unpack_from = _ENTRY.unpack_from


class OffsetIndex(IndexFile):
    """The .index file of one segment."""

    __slots__ = ()

    entry_size = _ENTRY.size

    def append(self, last_offset: int, position: int) -> None:
        """Note that the batch ending with last_offset begins at position."""
        self._append(_pack(last_offset - self.base_offset, position))

    def entry(self, number: int) -> tuple[int, int]:
        """The (offset, position) of one entry; negative numbers count from the end."""
        count = self.count
        relative, position = _unpack_from(self.entries, (number % count) * 8)
        return self.base_offset + relative, position

    def lookup(self, offset: int) -> int:
        """The position of the last indexed batch that ends at or below the offset, else 0."""
        entries = self.entries
        slot = bisect_right(
            range(len(entries) // 8),
            offset - self.base_offset,
            key=lambda number: _unpack_from(entries, number * 8)[0],
        )
        return _unpack_from(entries, slot * 8 - 8)[1] if slot else 0

    def batch_at_or_below(self, position: int) -> int:
        """The greatest known start of a batch that is not above the position."""
        entries = self.entries
        slot = bisect_right(
            range(len(entries) // 8),
            position,
            key=lambda number: _unpack_from(entries, number * 8)[1],
        )
        return _unpack_from(entries, slot * 8 - 8)[1] if slot else 0

    def end_at_or_above(self, position: int) -> int | None:
        """The offset behind the first indexed batch that begins at a position or above; None if none does."""
        entries = self.entries
        count = len(entries) // 8
        slot = bisect_left(
            range(count), position, key=lambda number: _unpack_from(entries, number * 8)[1]
        )
        if slot == count:
            return None
        last_offset: int = self.base_offset + _unpack_from(entries, slot * 8)[0]
        return last_offset + 1

    def truncate_to(self, offset: int) -> None:
        """Drop the entries of batches that end at or above the offset."""
        entries = self.entries
        self.keep(
            bisect_left(
                range(len(entries) // 8),
                offset - self.base_offset,
                key=lambda number: _unpack_from(entries, number * 8)[0],
            )
        )

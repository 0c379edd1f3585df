"""The time index: the largest timestamp seen so far, and the offset that carried it.

An entry is (i64 timestamp, i32 relative offset): every record with a greater timestamp comes
after that offset. Timestamps ascend strictly. The last entry, written when the segment is rolled
or closed, is the largest timestamp of the whole segment: retention by time reads it there.
"""

import struct
from bisect import bisect_left, bisect_right

from ottla.storage.index_file import IndexFile

_ENTRY = struct.Struct(">qi")
_unpack_from = _ENTRY.unpack_from


class TimeIndex(IndexFile):
    """The .timeindex file of one segment."""

    __slots__ = ()

    entry_size = _ENTRY.size

    def maybe_append(self, timestamp: int, offset: int) -> None:
        """Note a new largest timestamp; one that is not larger is left out."""
        if timestamp > self.last()[0]:
            self._append(_ENTRY.pack(timestamp, offset - self.base_offset))

    def last(self) -> tuple[int, int]:
        """The last (timestamp, offset), or (-1, base offset) when there is none."""
        entries = self.entries
        if not entries:
            return -1, self.base_offset
        timestamp, relative = _unpack_from(entries, len(entries) - 12)
        return timestamp, self.base_offset + relative

    def lookup(self, timestamp: int) -> int:
        """An offset below which every record is older than the timestamp."""
        entries = self.entries
        slot = bisect_left(
            range(len(entries) // 12),
            timestamp,
            key=lambda number: _unpack_from(entries, number * 12)[0],
        )
        return self.base_offset + (_unpack_from(entries, slot * 12 - 12)[1] if slot else 0)

    def truncate_to(self, offset: int) -> None:
        """Drop the entries at or above the offset."""
        entries = self.entries
        self.keep(
            bisect_left(
                range(len(entries) // 12),
                offset - self.base_offset,
                key=lambda number: _unpack_from(entries, number * 12)[1],
            )
        )

    def keep_through(self, offset: int) -> None:
        """Drop the entries above the offset."""
        entries = self.entries
        self.keep(
            bisect_right(
                range(len(entries) // 12),
                offset - self.base_offset,
                key=lambda number: _unpack_from(entries, number * 12)[1],
            )
        )

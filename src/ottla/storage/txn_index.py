"""The transaction index: the aborted transactions whose marker lies in one segment.

An entry is 34 bytes: i16 version (0), i64 producer id, i64 first offset, i64 last offset (the
marker's), i64 last stable offset at the time. The file exists only when it has entries.
"""

import struct
from bisect import bisect_left
from typing import NamedTuple

from ottla.base.errors import CorruptLog
from ottla.storage.index_file import IndexFile

_ENTRY = struct.Struct(">hqqqq")
_unpack = _ENTRY.unpack_from
_LAST_OFFSET = struct.calcsize(">hqq")
_unpack_last_offset = struct.Struct(">q").unpack_from


class AbortedTxn(NamedTuple):
    """One aborted transaction on this partition."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class TxnIndex(IndexFile):
    """The .txnindex file of one segment."""

    __slots__ = ()

    entry_size = _ENTRY.size

    def append(self, aborted: AbortedTxn) -> None:
        """Note an aborted transaction; markers come in the order of their offsets."""
        self._append(_ENTRY.pack(0, *aborted))

    def all(self) -> list[AbortedTxn]:
        """Every entry, in the order of the markers."""
        found = []
        for version, *fields in _ENTRY.iter_unpack(self.entries):
            if version != 0:
                raise CorruptLog(f"{self.path}: unknown entry version {version}")
            found.append(AbortedTxn(*fields))
        return found

    def collect(self, fetch_offset: int, upper_offset: int) -> tuple[list[AbortedTxn], bool]:
        """The aborted transactions that touch a range, and whether no later segment has more."""
        entries, size = self.entries, self.entry_size
        first = bisect_left(
            range(len(entries) // size),
            fetch_offset,
            key=lambda number: _unpack_last_offset(entries, number * size + _LAST_OFFSET)[0],
        )
        found = []
        for position in range(first * size, len(entries), size):
            version, producer_id, first_offset, last_offset, stable = _unpack(entries, position)
            if version != 0:
                raise CorruptLog(f"{self.path}: unknown entry version {version}")
            if first_offset < upper_offset:
                found.append(AbortedTxn(producer_id, first_offset, last_offset, stable))
            if stable >= upper_offset:
                return found, True
        return found, False

    def truncate_to(self, offset: int) -> None:
        """Drop the transactions whose marker is at or above the offset."""
        self.keep(sum(1 for aborted in self.all() if aborted.last_offset < offset))

    def flush(self) -> bool:
        """Write what the file lacks; an index that never had an entry makes no file."""
        return super().flush() if self._persisted > 0 or self.entries else False

    def _trimmed(self, data: bytes | bytearray) -> bytes:
        return bytes(data)

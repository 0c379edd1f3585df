"""The transaction index: the aborted transactions whose marker lies in one segment.

An entry is 34 bytes: i16 version (0), i64 producer id, i64 first offset, i64 last offset (the
marker's), i64 last stable offset at the time. The file exists only when it has entries.
"""

import struct
from typing import NamedTuple

from ottla.base.errors import CorruptLog
from ottla.storage.index_file import IndexFile

_ENTRY = struct.Struct(">hqqqq")


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
        found = []
        for aborted in self.all():
            if aborted.last_offset >= fetch_offset and aborted.first_offset < upper_offset:
                found.append(aborted)
            if aborted.last_stable_offset >= upper_offset:
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

"""The batches of one fetch: found, checked against their checksums, and those that matter decompressed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from fastcrc.crc32 import iscsi as crc32c
from numpy.typing import NDArray

from ottla.base.errors import ProtocolError
from ottla.base.units import INT_MAX, LONG_MAX
from ottla.client.isolation import Isolation
from ottla.pipeline.decoding_loops import (
    ATTRIBUTES,
    BASE_OFFSET,
    COLUMNS,
    COUNT,
    CRC,
    END,
    LAST_OFFSET_DELTA,
    POS,
    read_headers,
)
from ottla.protocol.records.batch import (
    ATTRIBUTES_POS,
    CODEC_MASK,
    CONTROL_FLAG,
    CURRENT_MAGIC,
    HEADER_SIZE,
    TRANSACTIONAL_FLAG,
    Buffer,
    iter_headers,
    parse_header,
)
from ottla.protocol.records.compression import Codec, decompress
from ottla.protocol.records.record import MIN_RECORD_SIZE, decompressed_limit

_MAGIC_POS = 16

Table: TypeAlias = NDArray[np.int64]


class Sections(NamedTuple):
    """The records of several batches in one buffer, and the table by which a loop finds them there."""

    data: NDArray[np.uint8]
    table: Table
    size_bytes: int


class Fetch:
    """The bytes of one fetch of a partition, and which of its offsets are wanted."""

    __slots__ = ("_check_crcs", "_data", "_end", "_last_offsets", "_name", "_start", "_table")

    def __init__(self, data: memoryview, name: str, start: int, end: int, check_crcs: bool) -> None:
        self._data = data
        self._name = name
        self._start = start
        self._end = end
        self._check_crcs = check_crcs
        self._table = self._read_table()
        self._last_offsets = self._table[:, BASE_OFFSET] + self._table[:, LAST_OFFSET_DELTA]

    def sections(
        self, aborted: Sequence[tuple[int, int]] | None, limit_bytes: int
    ) -> tuple[Sections, int]:
        """The records of the batches that matter, up to a limit, and the offset to go on from."""
        behind = np.flatnonzero(self._table[:, BASE_OFFSET] >= self._end)
        stop = int(behind[0]) if len(behind) else len(self._table)
        rows = self._visible(aborted, stop)
        parts: list[Buffer] | None = None
        if (self._table[rows, ATTRIBUTES] & CODEC_MASK).any():
            parts = self._decompressed(rows, limit_bytes)
            taken = len(parts)
        else:
            sizes = self._table[rows, END] - self._table[rows, POS]
            taken = int(np.searchsorted(np.cumsum(sizes), limit_bytes, "right")) or 1
        next_offset = self._start
        if taken < len(rows):
            stop = int(rows[taken])
        elif len(behind):
            # What begins behind the end shows that nothing in front of it is missing.
            next_offset = max(next_offset, self._end)
        self._check(0, stop)
        if stop:
            next_offset = max(next_offset, int(self._last_offsets[:stop].max()) + 1)
        return self._gathered(rows[:taken], parts), next_offset

    def flaw(self, batch: NDArray[np.int64], what: str) -> ProtocolError:
        """The error for a batch, given as a row of a table, that is not what it should be."""
        offset = int(batch[BASE_OFFSET])
        last_offset = offset + int(batch[LAST_OFFSET_DELTA])
        return ProtocolError(
            f"the batch of {self._name} at offset {offset} {what}; "
            f"begin at offset {last_offset + 1} to pass over it"
        )

    def _read_table(self) -> Table:
        data = self._data
        if len(data) > _MAGIC_POS and data[_MAGIC_POS] < CURRENT_MAGIC:
            raise ProtocolError(
                f"{self._name} holds messages of format {data[_MAGIC_POS]}, from before Kafka 0.11; "
                "copy the topic with a client that can read them, or begin behind them"
            )
        table = np.empty((len(data) // HEADER_SIZE, COLUMNS), np.int64)
        batches, end = read_headers(_array(data), table) if len(table) else (0, 0)
        try:
            # What is left is torn, or broken.
            next(iter_headers(data, end), None)
        except ProtocolError as error:
            raise ProtocolError(f"what was fetched of {self._name} is broken: {error}") from None
        return table[:batches]

    def _visible(self, aborted: Sequence[tuple[int, int]] | None, stop: int) -> NDArray[np.intp]:
        """The rows of batches with records that somebody may want and is allowed to see."""
        table = self._table[:stop]
        visible = self._last_offsets[:stop] >= self._start
        visible &= table[:, ATTRIBUTES] & CONTROL_FLAG == 0
        # Compaction leaves a batch without records, for its last offset or sequence.
        visible &= (table[:, COUNT] != 0) | (table[:, END] != table[:, POS])
        if aborted:
            isolation = Isolation(aborted)
            for row in np.flatnonzero(table[:, ATTRIBUTES] & TRANSACTIONAL_FLAG).tolist():
                visible[row] &= not self._is_hidden(isolation, row)
        return np.flatnonzero(visible)

    def _is_hidden(self, isolation: Isolation, row: int) -> bool:
        pos = int(self._table[row, POS]) - HEADER_SIZE
        try:
            return isolation.hides(self._data, pos, parse_header(self._data, pos))
        except ProtocolError as error:
            self._check(row, row + 1)
            raise self.flaw(self._table[row], f"is no marker ({error})") from None

    def _decompressed(self, rows: NDArray[np.intp], limit_bytes: int) -> list[Buffer]:
        """The records of each batch, up to a limit."""
        parts: list[Buffer] = []
        total_bytes = 0
        for row in rows.tolist():
            records = self._records(row)
            total_bytes += len(records)
            if parts and total_bytes > limit_bytes:
                break
            parts.append(records)
        return parts

    def _records(self, row: int) -> Buffer:
        batch = self._table[row]
        section = self._data[batch[POS] : batch[END]]
        codec = int(batch[ATTRIBUTES]) & CODEC_MASK
        if codec == Codec.NONE:
            return section
        limit_bytes = min(decompressed_limit(len(section) + HEADER_SIZE), INT_MAX)
        try:
            return decompress(codec, section, limit_bytes)
        except ProtocolError as error:
            self._check(row, row + 1)
            raise self.flaw(batch, f"cannot be decompressed ({error})") from None

    def _check(self, first: int, stop: int) -> None:
        """Look at the offsets, which nothing else verifies, and at the checksums of the batches that count."""
        table, last_offsets = self._table[first:stop], self._last_offsets[first:stop]
        base, delta = table[:, BASE_OFFSET], table[:, LAST_OFFSET_DELTA]
        for row in np.flatnonzero((base < 0) | (delta < 0) | (base >= LONG_MAX - delta)).tolist():
            raise self.flaw(table[row], "claims offsets that cannot be")
        if not self._check_crcs:
            return
        wanted = table[last_offsets >= self._start]
        starts = (wanted[:, POS] - (HEADER_SIZE - ATTRIBUTES_POS)).tolist()
        ends, crcs = wanted[:, END].tolist(), wanted[:, CRC].tolist()
        for row, (start, end, crc) in enumerate(zip(starts, ends, crcs, strict=True)):
            if crc32c(self._data[start:end]) != crc:
                raise self.flaw(wanted[row], "fails its checksum")

    def _gathered(self, rows: NDArray[np.intp], parts: list[Buffer] | None) -> Sections:
        """All records in one buffer: that of the fetch, unless some had to be decompressed."""
        table, data = self._table[rows], self._data
        if parts is not None:
            ends = np.cumsum([len(part) for part in parts])
            table[:, POS], table[:, END] = [0, *ends[:-1]], ends
            data = memoryview(parts[0] if len(parts) == 1 else b"".join(parts))
        sizes = table[:, END] - table[:, POS]
        counts = table[:, COUNT]
        for row in np.flatnonzero((counts < 0) | (counts * MIN_RECORD_SIZE > sizes)).tolist():
            raise self.flaw(table[row], f"claims {counts[row]} records in {sizes[row]} bytes")
        return Sections(_array(data), table, int(sizes.sum()))


def _array(data: memoryview) -> NDArray[np.uint8]:
    array = np.frombuffer(data, np.uint8)
    # Writable or not are two types to the compiler, and two compilations.
    array.flags.writeable = False
    return array

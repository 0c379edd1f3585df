"""The loops of decoding, compiled: the records of many batches into the buffers of Arrow columns.

No length or count in a record is trusted: nothing is read outside of its batch. A position of -1
stands for a flaw that was met on the way, and passes through every reader.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ottla.pipeline.compiled import jit

POS = 0
END = 1
BASE_OFFSET = 2
LAST_OFFSET_DELTA = 3
BASE_TIMESTAMP = 4
MAX_TIMESTAMP = 5
ATTRIBUTES = 6
COUNT = 7
CRC = 8
COLUMNS = 9
"""The columns of a table of batches, which has a row for each: where its records lie, what its header says."""

FLAWLESS = -1
FULL = -2

_VARINT_BITS = 32
_VARLONG_BITS = 64
_LAST_SHIFT = 63
_MAX_MS = (2**63 - 1) // 1000
_US_PER_MS = 1000


_HEADER_SIZE = 61
_LOG_OVERHEAD = 12
_MAGIC = 2
_APPEND_TIME_BIT = 3


class Binary(NamedTuple):
    """The three buffers of one Arrow column of bytes."""

    validity: NDArray[np.uint8]
    offsets: NDArray[np.int32]
    data: NDArray[np.uint8]


class Columns(NamedTuple):
    """What `fill` fills, with room for as many rows as `offsets` has."""

    key: Binary
    value: Binary
    offsets: NDArray[np.int64]
    timestamps: NDArray[np.int64]
    timestamp_types: NDArray[np.int32]
    headers_pos: NDArray[np.int64]


class HeaderColumns(NamedTuple):
    """The headers of all rows, one after the other, and where those of each row begin."""

    validity: NDArray[np.uint8]
    offsets: NDArray[np.int32]
    name: Binary
    value: Binary


@jit
def _big_endian(data: NDArray[np.uint8], pos: int, size: int) -> int:
    """A signed number of so many bytes."""
    value = int(np.int64(np.int8(data[pos])))
    for i in range(pos + 1, pos + size):
        value = value << 8 | data[i]
    return value


@jit
def read_headers(data: NDArray[np.uint8], table: NDArray[np.int64]) -> tuple[int, int]:
    """How many whole batches the data begins with, and the position behind them."""
    pos, batches = 0, 0
    while len(data) - pos >= _HEADER_SIZE:
        end = pos + _LOG_OVERHEAD + _big_endian(data, pos + 8, 4)
        if end < pos + _HEADER_SIZE or end > len(data) or data[pos + 16] != _MAGIC:
            break
        row = table[batches]
        row[POS] = pos + _HEADER_SIZE
        row[END] = end
        row[BASE_OFFSET] = _big_endian(data, pos, 8)
        row[CRC] = _big_endian(data, pos + 17, 4) & 0xFFFFFFFF
        row[ATTRIBUTES] = _big_endian(data, pos + 21, 2)
        row[LAST_OFFSET_DELTA] = _big_endian(data, pos + 23, 4)
        row[BASE_TIMESTAMP] = _big_endian(data, pos + 27, 8)
        row[MAX_TIMESTAMP] = _big_endian(data, pos + 35, 8)
        row[COUNT] = _big_endian(data, pos + 57, 4)
        batches += 1
        pos = end
    return batches, pos


@jit
def _varint(data: NDArray[np.uint8], pos: int, end: int, bits: int) -> tuple[int, int]:
    """A zigzag varint of at most so many bits, and the position behind it."""
    if pos < 0 or pos >= end:
        return 0, -1
    value = np.uint64(0)
    shift = np.uint64(0)
    while pos < end and shift < bits:
        byte = data[pos]
        pos += 1
        value |= np.uint64(byte & 0x7F) << shift
        if byte < 0x80:
            if bits == _VARINT_BITS:
                flawed = value >> np.uint64(_VARINT_BITS) != 0
            else:
                flawed = shift == _LAST_SHIFT and byte > 1
            if flawed:
                return 0, -1
            return int(np.int64(value >> np.uint64(1))) ^ -int(np.int64(value & np.uint64(1))), pos
        shift += np.uint64(7)
    return 0, -1


@jit
def _sized(data: NDArray[np.uint8], pos: int, end: int) -> tuple[int, int, int]:
    """Size (-1 for null) and position of bytes that follow their length, and the position behind."""
    size, start = _varint(data, pos, end, _VARINT_BITS)
    if start < 0 or size < -1 or size > end - start:
        return 0, 0, -1
    return size, start, start + max(size, 0)


@jit
def _skip_headers(data: NDArray[np.uint8], pos: int, end: int) -> tuple[int, int]:
    """How many headers a record has, and the position behind them."""
    count, pos = _varint(data, pos, end, _VARINT_BITS)
    if pos < 0 or count < 0 or count > (end - pos) // 2:
        return 0, -1
    for _ in range(count):
        size, _, pos = _sized(data, pos, end)
        if size < 0:
            return 0, -1
        _, _, pos = _sized(data, pos, end)
        if pos < 0:
            return 0, -1
    return count, pos


@jit
def _record(data: NDArray[np.uint8], pos: int, limit: int) -> tuple[int, ...]:
    """The position behind a record, and what it consists of."""
    size, pos = _varint(data, pos, limit, _VARINT_BITS)
    if pos < 0 or size < 1 or size > limit - pos:
        return -1, 0, 0, 0, 0, 0, 0, 0, 0
    end = pos + size
    # The byte passed over here holds attributes, which nothing uses yet.
    timestamp, pos = _varint(data, pos + 1, end, _VARLONG_BITS)
    offset, pos = _varint(data, pos, end, _VARINT_BITS)
    key_size, key_pos, pos = _sized(data, pos, end)
    value_size, value_pos, headers_pos = _sized(data, pos, end)
    headers, pos = _skip_headers(data, headers_pos, end)
    if pos != end:
        end = -1
    return end, timestamp, offset, key_size, key_pos, value_size, value_pos, headers_pos, headers


@jit
def _copy(target: NDArray[np.uint8], at: int, data: NDArray[np.uint8], pos: int, size: int) -> None:
    # Unsigned indices: a check for negative ones would keep the loop from becoming a block move.
    for i in range(np.uint64(size)):
        target[np.uint64(at) + i] = data[np.uint64(pos) + i]


@jit
def _set_bit(bitmap: NDArray[np.uint8], row: int) -> None:
    bitmap[row >> 3] |= np.uint8(1 << (row & 7))


@jit
def _microseconds(base_ms: int, delta_ms: int) -> int:
    """The sum, or the last moment that 64 bits can hold: a producer may write any number."""
    moment_ms = base_ms + delta_ms
    if (base_ms ^ moment_ms) & (delta_ms ^ moment_ms) < 0:
        moment_ms = _MAX_MS if base_ms > 0 else -_MAX_MS
    return min(max(moment_ms, -_MAX_MS), _MAX_MS) * _US_PER_MS


@jit
def fill(
    data: NDArray[np.uint8], table: NDArray[np.int64], start: int, end: int, out: Columns
) -> tuple[int, int, int, int]:
    """The records with start <= offset < end of the batches of a table, until the columns are full.

    Returns the row of the batch that has a flaw, or FLAWLESS, or FULL; how many rows were filled;
    how many headers they have; and the offset behind the last row.
    """
    # Arrays are taken out of their tuples once: each time counts references.
    (key_validity, key_offsets, key_data), (value_validity, value_offsets, value_data) = out[:2]
    offsets, timestamps, timestamp_types, headers_positions = out[2:]
    rows, headers, next_offset = 0, 0, start
    key_end, value_end = 0, 0
    for number in range(len(table)):
        pos, limit, last_delta = table[number, POS], table[number, END], -1
        timestamp_type = table[number, ATTRIBUTES] >> _APPEND_TIME_BIT & 1
        base_timestamp = table[number, MAX_TIMESTAMP if timestamp_type else BASE_TIMESTAMP]
        for _ in range(table[number, COUNT]):
            pos, timestamp, delta, key_size, key_pos, value_size, value_pos, headers_pos, count = (
                _record(data, pos, limit)
            )
            if pos < 0 or delta <= last_delta or delta > table[number, LAST_OFFSET_DELTA]:
                return number, rows, headers, next_offset
            last_delta = delta
            offset = table[number, BASE_OFFSET] + delta
            if offset < start or offset >= end:
                continue
            if rows == len(offsets):
                return FULL, rows, headers, next_offset
            if key_size >= 0:
                _copy(key_data, key_end, data, key_pos, key_size)
                _set_bit(key_validity, rows)
                key_end += key_size
            if value_size >= 0:
                _copy(value_data, value_end, data, value_pos, value_size)
                _set_bit(value_validity, rows)
                value_end += value_size
            key_offsets[rows + 1] = key_end
            value_offsets[rows + 1] = value_end
            offsets[rows] = offset
            timestamps[rows] = _microseconds(base_timestamp, 0 if timestamp_type else timestamp)
            timestamp_types[rows] = timestamp_type
            headers_positions[rows] = headers_pos
            headers += count
            rows += 1
            next_offset = offset + 1
        if pos != limit:
            return number, rows, headers, next_offset
    return FLAWLESS, rows, headers, next_offset


@jit
def fill_headers(
    data: NDArray[np.uint8], headers_pos: NDArray[np.int64], out: HeaderColumns
) -> None:
    """The headers of records that `fill` found flawless; a row without any becomes null."""
    name_offsets, name_data = out.name.offsets, out.name.data
    value_validity, value_offsets, value_data = out.value
    end = len(data)
    header, name_end, value_end = 0, 0, 0
    for row in range(len(headers_pos)):
        count, pos = _varint(data, headers_pos[row], end, _VARINT_BITS)
        if count > 0:
            _set_bit(out.validity, row)
        for _ in range(count):
            size, start, pos = _sized(data, pos, end)
            _copy(name_data, name_end, data, start, size)
            name_end += size
            name_offsets[header + 1] = name_end
            size, start, pos = _sized(data, pos, end)
            if size >= 0:
                _copy(value_data, value_end, data, start, size)
                _set_bit(value_validity, header)
                value_end += size
            value_offsets[header + 1] = value_end
            header += 1
        out.offsets[row + 1] = header

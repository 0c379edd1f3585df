"""The loops of encoding, compiled: rows of Arrow columns into the record section of one batch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ottla.pipeline.compiled import jit


class Binary(NamedTuple):
    """An Arrow column of bytes; the bit of its first row in `validity` is `first_bit`.

    Without any null `validity` is empty.
    """

    validity: NDArray[np.uint8]
    first_bit: int
    offsets: NDArray[np.int32]
    data: NDArray[np.uint8]


class Headers(NamedTuple):
    """An Arrow column of lists of pairs; a null list and an empty one are the same."""

    validity: NDArray[np.uint8]
    first_bit: int
    offsets: NDArray[np.int32]
    names: Binary
    values: Binary


@jit
def _varint_size(value: int) -> int:
    rest = np.uint64((value << 1) ^ (value >> 63))
    size = 1
    while rest > np.uint64(0x7F):
        rest >>= np.uint64(7)
        size += 1
    return size


@jit
def _write_varint(out: NDArray[np.uint8], pos: int, value: int) -> int:
    rest = np.uint64((value << 1) ^ (value >> 63))
    while rest > np.uint64(0x7F):
        out[pos] = np.uint8(rest & np.uint64(0x7F)) | np.uint8(0x80)
        rest >>= np.uint64(7)
        pos += 1
    out[pos] = np.uint8(rest)
    return pos + 1


@jit
def _is_null(validity: NDArray[np.uint8], bit: int) -> bool:
    return len(validity) > 0 and not (validity[bit >> 3] >> (bit & 7)) & 1


@jit
def _size(column: Binary, row: int) -> int:
    """The bytes of a row, -1 for null."""
    if _is_null(column.validity, column.first_bit + row):
        return -1
    return np.int64(column.offsets[row + 1]) - np.int64(column.offsets[row])


@jit
def _encoded_size(size: int) -> int:
    return _varint_size(size) + max(size, 0)


@jit
def _write_bytes(out: NDArray[np.uint8], pos: int, column: Binary, row: int, size: int) -> int:
    pos = _write_varint(out, pos, size)
    if size > 0:
        start = column.offsets[row]
        for i in range(np.uint64(size)):
            out[np.uint64(pos) + i] = column.data[np.uint64(start) + i]
        pos += size
    return pos


@jit
def _header_range(headers: Headers, row: int) -> tuple[int, int]:
    if len(headers.offsets) == 0 or _is_null(headers.validity, headers.first_bit + row):
        return 0, 0
    return np.int64(headers.offsets[row]), np.int64(headers.offsets[row + 1])


@jit
def _headers_size(headers: Headers, row: int) -> int:
    begin, end = _header_range(headers, row)
    size = _varint_size(end - begin)
    for header in range(begin, end):
        size += _encoded_size(_size(headers.names, header))
        size += _encoded_size(_size(headers.values, header))
    return size


@jit
def _write_headers(out: NDArray[np.uint8], pos: int, headers: Headers, row: int) -> int:
    begin, end = _header_range(headers, row)
    pos = _write_varint(out, pos, end - begin)
    for header in range(begin, end):
        pos = _write_bytes(out, pos, headers.names, header, _size(headers.names, header))
        pos = _write_bytes(out, pos, headers.values, header, _size(headers.values, header))
    return pos


@jit
def pack(
    rows: NDArray[np.int64],
    begin: int,
    key: Binary,
    value: Binary,
    headers: Headers,
    timestamps: NDArray[np.int64],
    out: NDArray[np.uint8],
) -> tuple[int, int, int]:
    """The records of rows[begin:] as far as they fit `out`.

    Returns the place in `rows` to go on from, the bytes written, and the greatest timestamp. If
    not even the first fits, the bytes it takes are returned with a minus sign.
    """
    pos = 0
    base_timestamp = max_timestamp = timestamps[rows[begin]]
    for number in range(begin, len(rows)):
        row = rows[number]
        key_size, value_size = _size(key, row), _size(value, row)
        delta = timestamps[row] - base_timestamp
        size = (
            1
            + _varint_size(delta)
            + _varint_size(number - begin)
            + _encoded_size(key_size)
            + _encoded_size(value_size)
            + _headers_size(headers, row)
        )
        needed = size + _varint_size(size)
        if needed > len(out) - pos:
            return number, pos if pos else -needed, max_timestamp
        pos = _write_varint(out, pos, size)
        out[pos] = 0
        pos = _write_varint(out, pos + 1, delta)
        pos = _write_varint(out, pos, number - begin)
        pos = _write_bytes(out, pos, key, row, key_size)
        pos = _write_bytes(out, pos, value, row, value_size)
        pos = _write_headers(out, pos, headers, row)
        max_timestamp = max(max_timestamp, timestamps[row])
    return len(rows), pos, max_timestamp


@jit
def _murmur2(data: NDArray[np.uint8], start: int, size: int) -> int:
    """Kafka's 32-bit murmur2, with the sign bit cleared."""
    m = np.uint32(0x5BD1E995)
    h = np.uint32(0x9747B28C) ^ np.uint32(size)
    pos = start
    for _ in range(size >> 2):
        k = np.uint32(data[pos])
        k |= np.uint32(data[pos + 1]) << np.uint32(8)
        k |= np.uint32(data[pos + 2]) << np.uint32(16)
        k |= np.uint32(data[pos + 3]) << np.uint32(24)
        k = np.uint32(k * m)
        k ^= k >> np.uint32(24)
        h = np.uint32(h * m) ^ np.uint32(k * m)
        pos += 4
    rest = size & 3
    if rest:
        for i in range(rest):
            h ^= np.uint32(data[pos + i]) << np.uint32(8 * i)
        h = np.uint32(h * m)
    h ^= h >> np.uint32(13)
    h = np.uint32(h * m)
    h ^= h >> np.uint32(15)
    return np.int64(h & np.uint32(0x7FFFFFFF))


@jit
def partition(keys: Binary, count: int, out: NDArray[np.int32]) -> None:
    """The partition of each row by its key, -1 where that is null."""
    for row in range(len(out)):
        size = _size(keys, row)
        out[row] = -1 if size < 0 else _murmur2(keys.data, keys.offsets[row], size) % count

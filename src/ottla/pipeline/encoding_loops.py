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
    """An Arrow column of lists of pairs, of which no name is null; a null list is as good as an empty one."""

    validity: NDArray[np.uint8]
    first_bit: int
    offsets: NDArray[np.int32]
    names: Binary
    values: Binary


class Blocks(NamedTuple):
    """The encoded headers of each row; without `ends` all rows have those in `data`."""

    ends: NDArray[np.int64]
    data: NDArray[np.uint8]


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
def _size(validity: NDArray[np.uint8], first_bit: int, offsets: NDArray[np.int32], row: int) -> int:
    """The bytes, or the elements, of a row; -1 for null."""
    bit = first_bit + row
    if len(validity) > 0 and not (validity[bit >> 3] >> (bit & 7)) & 1:
        return -1
    return int(offsets[row + 1]) - int(offsets[row])


@jit
def _encoded_size(size: int) -> int:
    return _varint_size(size) + max(size, 0)


@jit
def _copy(out: NDArray[np.uint8], pos: int, data: NDArray[np.uint8], start: int, size: int) -> int:
    # Unsigned indices: a check for negative ones would keep the loop from becoming a block move.
    for i in range(np.uint64(size)):
        out[np.uint64(pos) + i] = data[np.uint64(start) + i]
    return pos + size


@jit
def _write_bytes(
    out: NDArray[np.uint8], pos: int, data: NDArray[np.uint8], start: int, size: int
) -> int:
    return _copy(out, _write_varint(out, pos, size), data, start, max(size, 0))


@jit
def encode_headers(headers: Headers, ends: NDArray[np.int64], out: NDArray[np.uint8]) -> None:
    """The headers of each row as they stand in its record, one after the other, and where each ends."""
    # Arrays are taken out of their tuples once: each time counts references.
    validity, first_bit, offsets, names, values = headers
    name_offsets, name_data = names.offsets, names.data
    value_validity, value_bit, value_offsets, value_data = values
    pos = 0
    for row in range(len(ends)):
        count = max(_size(validity, first_bit, offsets, row), 0)
        pos = _write_varint(out, pos, count)
        begin = offsets[row]
        for header in range(begin, begin + count):
            start = name_offsets[header]
            pos = _write_bytes(out, pos, name_data, start, name_offsets[header + 1] - start)
            size = _size(value_validity, value_bit, value_offsets, header)
            pos = _write_bytes(out, pos, value_data, value_offsets[header], size)
        ends[row] = pos


@jit
def pack(
    rows: NDArray[np.int64],
    begin: int,
    key: Binary,
    value: Binary,
    headers: Blocks,
    timestamps: NDArray[np.int64],
    out: NDArray[np.uint8],
) -> tuple[int, int, int]:
    """The records of rows[begin:] as far as they fit `out`.

    Returns the place in `rows` to go on from, the bytes written, and the greatest timestamp. If
    not even the first fits, the bytes it takes are returned with a minus sign.
    """
    key_validity, key_bit, key_offsets, key_data = key
    value_validity, value_bit, value_offsets, value_data = value
    header_ends, header_data = headers
    headers_start, headers_size, pos = 0, 1, 0
    base_timestamp = max_timestamp = timestamps[rows[begin]]
    for number in range(begin, len(rows)):
        row = rows[number]
        key_size = _size(key_validity, key_bit, key_offsets, row)
        value_size = _size(value_validity, value_bit, value_offsets, row)
        delta = timestamps[row] - base_timestamp
        if len(header_ends) > 0:
            headers_start = header_ends[row - 1] if row > 0 else 0
            headers_size = header_ends[row] - headers_start
        size = 1 + _varint_size(delta) + _varint_size(number - begin) + headers_size
        size += _encoded_size(key_size) + _encoded_size(value_size)
        needed = size + _varint_size(size)
        if needed > len(out) - pos:
            return number, pos or -needed, max_timestamp
        pos = _write_varint(out, pos, size)
        out[pos] = 0
        pos = _write_varint(out, pos + 1, delta)
        pos = _write_varint(out, pos, number - begin)
        pos = _write_bytes(out, pos, key_data, key_offsets[row], key_size)
        pos = _write_bytes(out, pos, value_data, value_offsets[row], value_size)
        pos = _copy(out, pos, header_data, headers_start, headers_size)
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
    return int(np.int64(h & np.uint32(0x7FFFFFFF)))


@jit
def partition(keys: Binary, count: int, out: NDArray[np.int32]) -> None:
    """The partition of each row by its key, -1 where that is null."""
    validity, first_bit, offsets, data = keys
    for row in range(len(out)):
        size = _size(validity, first_bit, offsets, row)
        out[row] = -1 if size < 0 else _murmur2(data, offsets[row], size) % count

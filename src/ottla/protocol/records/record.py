"""Pure: the records inside one batch: walked without building anything, or read as values.

A record is `length attributes timestamp_delta offset_delta key value headers`, all lengths and
deltas as zigzag varints, with -1 for a null key or value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ottla.base.errors import ProtocolError
from ottla.base.units import MiB
from ottla.protocol.records.batch import (
    HEADER_SIZE,
    NO_TIMESTAMP,
    BatchHeader,
    Buffer,
    parse_header,
)
from ottla.protocol.records.compression import Codec, decompress

MIN_RECORD_SIZE = 7
"""Length, attributes, two deltas, null key, null value, no headers: a byte each."""

_VARINT_BITS = 32
_VARLONG_BITS = 64
_new_span = tuple.__new__


class Record(NamedTuple):
    """One record as people see it; a control record has its marker in key and value."""

    offset: int = 0
    timestamp: int = NO_TIMESTAMP
    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()


class Span(NamedTuple):
    """Where one record lies in the record section; null keys and values have size -1."""

    start: int
    timestamp_delta: int
    offset_delta: int
    key_pos: int
    key_size: int
    value_pos: int
    value_size: int
    headers_pos: int
    end: int


def decompressed_limit(size_bytes: int) -> int:
    """How large the records of a batch of `size_bytes` may become.

    The bound follows from the batch alone, so that what was accepted once stays readable whatever
    the settings are later. 64 MiB is 64 times a batch of the default max.message.bytes, more than
    real data shrinks, and still a fraction of a second of work.
    """
    return max(64 * MiB, 8 * size_bytes)


def record_section(buf: Buffer, header: BatchHeader, pos: int = 0) -> bytearray | memoryview:
    """The bytes of the records of the batch at `pos`, decompressed if need be."""
    section = memoryview(buf)[pos + HEADER_SIZE : pos + header.size_bytes]
    if header.codec == Codec.NONE:
        return section
    return decompress(header.codec, section, decompressed_limit(header.size_bytes))


def walk_records(section: Buffer, count: int) -> Iterator[Span]:
    """Each of `count` records in turn, its structure verified; ProtocolError at the first flaw."""
    end = len(section)
    if not 0 <= count * MIN_RECORD_SIZE <= end:
        raise ProtocolError(f"{count} records cannot fit {end} bytes")
    pos = 0
    try:
        for _ in range(count):
            span = _span_at(section, pos)
            pos = span[8]
            yield span
    except IndexError:
        raise ProtocolError(f"a record at byte {pos} reaches behind the {end} there are") from None
    if pos != end:
        raise ProtocolError(f"{end - pos} bytes are left behind the last of {count} records")


def _span_at(section: Buffer, start: int) -> Span:
    # One-byte varints are decoded in line: deep validation and compaction spend their time here.
    byte = section[start]
    if byte < 0x80:
        size, pos = (byte >> 1) ^ -(byte & 1), start + 1
    else:
        size, pos = _long_varint(section, start, _VARINT_BITS)
    end = pos + size
    pos += 1  # attributes, which nothing uses yet
    byte = section[pos]
    if byte < 0x80:
        timestamp_delta, pos = (byte >> 1) ^ -(byte & 1), pos + 1
    else:
        timestamp_delta, pos = _long_varint(section, pos, _VARLONG_BITS)
    byte = section[pos]
    if byte < 0x80:
        offset_delta, pos = (byte >> 1) ^ -(byte & 1), pos + 1
    else:
        offset_delta, pos = _long_varint(section, pos, _VARINT_BITS)
    byte = section[pos]
    if byte < 0x80:
        key_size, key_pos = (byte >> 1) ^ -(byte & 1), pos + 1
    else:
        key_size, key_pos = _long_varint(section, pos, _VARINT_BITS)
    pos = key_pos + key_size if key_size > 0 else key_pos
    byte = section[pos]
    if byte < 0x80:
        value_size, value_pos = (byte >> 1) ^ -(byte & 1), pos + 1
    else:
        value_size, value_pos = _long_varint(section, pos, _VARINT_BITS)
    headers_pos = value_pos + value_size if value_size > 0 else value_pos
    if section[headers_pos]:
        pos = _end_of_headers(section, headers_pos, end)
    else:
        pos = headers_pos + 1
    if pos != end or pos > len(section) or key_size < -1 or value_size < -1:
        raise ProtocolError(f"the record at byte {start} does not end where it says, at {end}")
    return _new_span(
        Span,
        (
            start,
            timestamp_delta,
            offset_delta,
            key_pos,
            key_size,
            value_pos,
            value_size,
            headers_pos,
            end,
        ),
    )


def _end_of_headers(section: Buffer, pos: int, end: int) -> int:
    for _, _, value_pos, value_size in _walk_headers(section, pos, end):
        pos = value_pos + max(value_size, 0)
    return pos


def _walk_headers(section: Buffer, pos: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Position and size of key and value of each header of one record."""
    count, pos = _varint(section, pos)
    if not 0 <= count * 2 <= end - pos:
        raise ProtocolError(f"{count} headers cannot fit {end - pos} bytes")
    for _ in range(count):
        key_size, key_pos = _varint(section, pos)
        if key_size < 0:
            raise ProtocolError(f"a header with a name of {key_size} bytes")
        value_size, value_pos = _varint(section, key_pos + key_size)
        if value_size < -1:
            raise ProtocolError(f"a header with a value of {value_size} bytes")
        yield key_pos, key_size, value_pos, value_size
        pos = value_pos + max(value_size, 0)


def _varint(section: Buffer, pos: int) -> tuple[int, int]:
    byte = section[pos]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), pos + 1
    return _long_varint(section, pos, _VARINT_BITS)


def _long_varint(section: Buffer, pos: int, bits: int) -> tuple[int, int]:
    byte = section[pos + 1]
    value = section[pos] & 0x7F | (byte & 0x7F) << 7
    pos, shift = pos + 2, 14
    while byte > 0x7F:
        if shift >= bits:
            raise ProtocolError(f"a varint of more than {bits} bits")
        byte = section[pos]
        value |= (byte & 0x7F) << shift
        pos, shift = pos + 1, shift + 7
    if value >> bits:
        raise ProtocolError(f"a varint of more than {bits} bits")
    return (value >> 1) ^ -(value & 1), pos


def read_records(buf: Buffer, pos: int = 0) -> list[Record]:
    """All records of the batch at `pos`, decompressed within bounds."""
    header = parse_header(buf, pos)
    section = memoryview(record_section(buf, header, pos))
    return [_read(section, span, header) for span in walk_records(section, header.count)]


def _read(section: memoryview, span: Span, header: BatchHeader) -> Record:
    key = _bytes_at(section, span.key_pos, span.key_size)
    value = _bytes_at(section, span.value_pos, span.value_size)
    headers = tuple(
        (str(section[key_pos : key_pos + key_size], "utf-8", "replace"), _bytes_at(section, *rest))
        for key_pos, key_size, *rest in _walk_headers(section, span.headers_pos, span.end)
    )
    offset = header.base_offset + span.offset_delta
    return Record(offset, timestamp_of(header, span.timestamp_delta), key, value, headers)


def _bytes_at(section: memoryview, pos: int, size: int) -> bytes | None:
    return None if size < 0 else bytes(section[pos : pos + size])


def timestamp_of(header: BatchHeader, timestamp_delta: int) -> int:
    """The timestamp of a record: the append's, or its own."""
    if header.is_log_append_time:
        return header.max_timestamp
    return header.base_timestamp + timestamp_delta


def first_record_at_or_after(
    buf: Buffer, timestamp: int, pos: int = 0, from_offset: int = 0
) -> tuple[int, int] | None:
    """Offset and timestamp of the first record not older than `timestamp`, from an offset on."""
    header = parse_header(buf, pos)
    if header.is_log_append_time and header.max_timestamp < timestamp:
        return None
    for span in walk_records(record_section(buf, header, pos), header.count):
        offset = header.base_offset + span.offset_delta
        found = timestamp_of(header, span.timestamp_delta)
        if found >= timestamp and offset >= from_offset:
            return offset, found
    return None


def max_timestamp_record(buf: Buffer, pos: int = 0) -> tuple[int, int] | None:
    """Offset and timestamp of the first record with the greatest timestamp of its batch."""
    header = parse_header(buf, pos)
    best: tuple[int, int] | None = None
    for span in walk_records(record_section(buf, header, pos), header.count):
        found = timestamp_of(header, span.timestamp_delta)
        if best is None or found > best[1]:
            best = header.base_offset + span.offset_delta, found
    return best

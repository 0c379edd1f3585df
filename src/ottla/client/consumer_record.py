"""Pure: records as a consumer gets them, decoded batch by batch as quickly as Python can."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from ottla.base.errors import ProtocolError
from ottla.client.serializers import Deserializer
from ottla.protocol.records.batch import HEADER_SIZE, BatchHeader, Buffer
from ottla.protocol.records.compression import Codec, decompress
from ottla.protocol.records.record import decompressed_limit

CREATE_TIME: Final = 0
LOG_APPEND_TIME: Final = 1

_NULL: Final = 1
_new = tuple.__new__


class ConsumerRecord(NamedTuple):
    """A record and where it was read; `timestamp_type` is CREATE_TIME or LOG_APPEND_TIME."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: int
    key: Any
    value: Any
    headers: tuple[tuple[str, bytes | None], ...]
    leader_epoch: int


class Deserializers(NamedTuple):
    """What makes keys and values of bytes; None leaves the bytes."""

    key: Deserializer | None = None
    value: Deserializer | None = None


def read_batch(
    data: Buffer,
    pos: int,
    header: BatchHeader,
    topic: str,
    partition: int,
    from_offset: int,
    deserializers: Deserializers,
) -> list[ConsumerRecord]:
    """The records of the batch at `pos` from an offset on."""
    stop = pos + header.size_bytes
    if header.codec == Codec.NONE:
        section: bytes = bytes(memoryview(data)[pos + HEADER_SIZE : stop])
    else:
        packed = memoryview(data)[pos + HEADER_SIZE : stop]
        limit = decompressed_limit(header.size_bytes)
        section = bytes(decompress(header.codec, packed, limit))
    try:
        records = _decode(section, header, topic, partition)
    except IndexError:
        raise ProtocolError(
            f"the batch of {topic}-{partition} at offset {header.base_offset} is cut short"
        ) from None
    if header.is_log_append_time:
        stamp = header.max_timestamp
        records = [r._replace(timestamp=stamp, timestamp_type=LOG_APPEND_TIME) for r in records]
    if from_offset > header.base_offset:
        records = [record for record in records if record.offset >= from_offset]
    if deserializers.key is not None or deserializers.value is not None:
        records = [_deserialized(record, deserializers) for record in records]
    return records


def _decode(  # noqa: C901  # per record, and nearly all the time of a consumer: nothing is called
    section: bytes, header: BatchHeader, topic: str, partition: int
) -> list[ConsumerRecord]:
    base_offset, base_timestamp, epoch = (
        header.base_offset,
        header.base_timestamp,
        header.leader_epoch,
    )
    records: list[ConsumerRecord] = []
    append, new, cls = records.append, _new, ConsumerRecord
    pos = 0
    for _ in range(header.count):
        size = section[pos]
        pos += 1
        if size > 0x7F:
            size = size & 0x7F | section[pos] << 7
            pos += 1
            if size > 0x3FFF:
                size, pos = _rest(section, pos, size)
        end = pos + (size >> 1)
        pos += 1  # attributes, which nothing uses yet
        delta = section[pos]
        pos += 1
        if delta > 0x7F:
            delta, pos = _rest(section, pos, delta)
        timestamp = base_timestamp + ((delta >> 1) ^ -(delta & 1))
        delta = section[pos]
        pos += 1
        if delta > 0x7F:
            delta = delta & 0x7F | section[pos] << 7
            pos += 1
            if delta > 0x3FFF:
                delta, pos = _rest(section, pos, delta)
        size = section[pos]
        pos += 1
        key = value = None
        if size != _NULL:
            if size > 0x7F:
                size, pos = _rest(section, pos, size)
            size >>= 1
            key = section[pos : pos + size]
            pos += size
        size = section[pos]
        pos += 1
        if size != _NULL:
            if size > 0x7F:
                size = size & 0x7F | section[pos] << 7
                pos += 1
                if size > 0x3FFF:
                    size, pos = _rest(section, pos, size)
            size >>= 1
            value = section[pos : pos + size]
            pos += size
        headers, pos = _headers(section, pos) if section[pos] else ((), pos + 1)
        if pos != end:
            raise ProtocolError(f"a record of {topic}-{partition} does not end where it says")
        offset = base_offset + (delta >> 1)
        append(new(cls, (topic, partition, offset, timestamp, 0, key, value, headers, epoch)))
    return records


def _rest(section: bytes, pos: int, begun: int) -> tuple[int, int]:
    """The unsigned varint of which seven bits, or fourteen and the continuation bit, were read."""
    shift = 7 if begun < 0x100 else 14
    value = begun & ((1 << shift) - 1)
    byte = 0x80
    while byte > 0x7F:
        byte = section[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if shift > 70:
            raise ProtocolError("a varint of a record is longer than ten bytes")
    return value, pos


def _headers(section: bytes, pos: int) -> tuple[tuple[tuple[str, bytes | None], ...], int]:
    count, pos = _varint(section, pos)
    found = []
    for _ in range(count):
        size, pos = _varint(section, pos)
        name = section[pos : pos + size].decode("utf-8", "replace")
        size, pos = _varint(section, pos + size)
        found.append((name, section[pos : pos + size] if size >= 0 else None))
        pos += max(size, 0)
    return tuple(found), pos


def _varint(section: bytes, pos: int) -> tuple[int, int]:
    value, pos = section[pos], pos + 1
    if value > 0x7F:
        value, pos = _rest(section, pos, value)
    return (value >> 1) ^ -(value & 1), pos


def _deserialized(record: ConsumerRecord, by: Deserializers) -> ConsumerRecord:
    key, value = record.key, record.value
    if by.key is not None and key is not None:
        key = by.key(key)
    if by.value is not None and value is not None:
        value = by.value(value)
    return record._replace(key=key, value=value)

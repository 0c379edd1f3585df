"""Pure: records as a consumer gets them, decoded batch by batch as quickly as Python can."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import repeat
from typing import Any, Final, NamedTuple, TypeAlias

from ottla.base.errors import ProtocolError
from ottla.base.ids import TopicPartition
from ottla.client.errors import UnreadableRecord
from ottla.client.serializers import Deserializer
from ottla.protocol.records.batch import BatchHeader, Buffer
from ottla.protocol.records.record import read_records, record_section

CREATE_TIME: Final = 0
LOG_APPEND_TIME: Final = 1

RecordHeaders: TypeAlias = tuple[tuple[str, bytes | None], ...]


class ConsumerRecord(NamedTuple):
    """A record and where it was read; `timestamp_type` is CREATE_TIME or LOG_APPEND_TIME."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: int
    key: Any
    value: Any
    headers: RecordHeaders
    leader_epoch: int


_new_record: partial[ConsumerRecord] = partial(tuple.__new__, ConsumerRecord)


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
) -> tuple[list[ConsumerRecord], UnreadableRecord | None]:
    """The records of the batch at `pos` from an offset on, up to the first that a deserializer refuses.

    Raises UnreadableRecord if the batch itself cannot be read.
    """
    records = _quickly(data, pos, header, topic, partition)
    if records is None:
        records = _carefully(data, pos, header, topic, partition, from_offset)
    if header.is_log_append_time:
        stamp = header.max_timestamp
        records = [r._replace(timestamp=stamp, timestamp_type=LOG_APPEND_TIME) for r in records]
    if from_offset > header.base_offset:
        records = [record for record in records if record.offset >= from_offset]
    if deserializers.key is not None or deserializers.value is not None:
        return _all_deserialized(records, deserializers)
    return records, None


def _carefully(
    data: Buffer, pos: int, header: BatchHeader, topic: str, partition: int, from_offset: int
) -> list[ConsumerRecord]:
    """Batches with gaps in their offsets (compaction leaves them), or with a flaw to be told."""
    try:
        records = read_records(data, pos)
    except Exception as error:  # a codec has errors of its own for bytes that are no such stream
        target, after = TopicPartition(topic, partition), header.last_offset + 1
        raise UnreadableRecord(
            f"the batch of {target} at offset {header.base_offset} cannot be read: {error}; "
            f"seek to offset {after} to pass over it",
            target,
            max(from_offset, header.base_offset),
            after,
        ) from error
    epoch = header.leader_epoch
    return [
        ConsumerRecord(
            topic, partition, r.offset, r.timestamp, CREATE_TIME, r.key, r.value, r.headers, epoch
        )
        for r in records
    ]


def _quickly(
    data: Buffer, pos: int, header: BatchHeader, topic: str, partition: int
) -> list[ConsumerRecord] | None:
    """A batch without gaps in its offsets; None if it is another one."""
    if header.last_offset_delta != header.count - 1:
        return None
    try:
        section = bytes(record_section(data, header, pos))
        stamps, keys, values, headers = _columns(section, header.count, header.base_timestamp)
    except (IndexError, ProtocolError):
        return None
    columns = zip(
        repeat(topic),
        repeat(partition),
        range(header.base_offset, header.base_offset + header.count),
        stamps,
        repeat(CREATE_TIME),
        keys,
        values,
        headers,
        repeat(header.leader_epoch),
    )
    return list(map(_new_record, columns))


def _columns(  # nearly all the time of a consumer goes here: nothing is called that need not be
    section: bytes, count: int, base_timestamp: int
) -> tuple[list[int], Iterable[bytes | None], list[bytes | None], Iterable[RecordHeaders]]:
    """Timestamps, keys, values and headers of all records; offsets follow from the order.

    Lengths of records are stepped over, since those of keys and values say the same.
    """
    stamps: list[int] = []
    values: list[bytes | None] = []
    keys: dict[int, bytes] = {}
    headers: dict[int, RecordHeaders] = {}
    add_stamp, add_value = stamps.append, values.append
    pos = 0
    for index in range(count):
        if section[pos] > 0x7F:
            pos += 1
            if section[pos] > 0x7F:
                pos = _rest(section, pos, 0)[1] - 1
        delta = section[pos + 2]  # behind the length and attributes that nothing uses yet
        pos += 3
        if delta > 0x7F:
            delta, pos = _rest(section, pos, delta)
        add_stamp(base_timestamp + ((delta >> 1) ^ -(delta & 1)))
        pos += 1 if index < 64 else 2 if index < 8192 else 3 if index < 1048576 else 4
        size = section[pos]
        pos += 1
        if size != 1:  # null
            if size > 0x7F:
                size, pos = _rest(section, pos, size)
            start = pos
            pos += size >> 1
            keys[index] = section[start:pos]
        size = section[pos]
        pos += 1
        if size != 1:
            if size > 0x7F:
                size = size & 0x7F | section[pos] << 7
                pos += 1
                if size > 0x3FFF:
                    size, pos = _rest(section, pos - 1, size)
            start = pos
            pos += size >> 1
            add_value(section[start:pos])
        else:
            add_value(None)
        if section[pos]:
            headers[index], pos = _headers(section, pos)
        else:
            pos += 1
    if pos != len(section):
        raise ProtocolError("the records do not end where their batch does")
    return (
        stamps,
        map(keys.get, range(count)) if keys else repeat(None),
        values,
        [headers.get(index, ()) for index in range(count)] if headers else repeat(()),
    )


def _headers(section: bytes, pos: int) -> tuple[RecordHeaders, int]:
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


def _rest(section: bytes, pos: int, begun: int) -> tuple[int, int]:
    """The unsigned varint of which the first byte was read, and the position behind it."""
    byte = section[pos]
    value, shift = begun & 0x7F | (byte & 0x7F) << 7, 14
    while byte > 0x7F:
        pos += 1
        byte = section[pos]
        value |= (byte & 0x7F) << shift
        shift += 7
        if shift > 70:
            raise ProtocolError("a varint of a record is longer than ten bytes")
    return value, pos + 1


def _all_deserialized(
    records: list[ConsumerRecord], by: Deserializers
) -> tuple[list[ConsumerRecord], UnreadableRecord | None]:
    """The records up to the first that fails, and the failure."""
    done: list[ConsumerRecord] = []
    for record in records:
        try:
            done.append(_deserialized(record, by))
        except Exception as error:
            return done, _undecodable(record, error)
    return done, None


def _undecodable(record: ConsumerRecord, why: Exception) -> UnreadableRecord:
    target = TopicPartition(record.topic, record.partition)
    failure = UnreadableRecord(
        f"the record of {target} at offset {record.offset} cannot be deserialized; seek to offset "
        f"{record.offset + 1} to pass over it, or correct key.deserializer or value.deserializer",
        target,
        record.offset,
        record.offset + 1,
        record.key,
        record.value,
        record.headers,
    )
    failure.__cause__ = why
    return failure


def _deserialized(record: ConsumerRecord, by: Deserializers) -> ConsumerRecord:
    key, value = record.key, record.value
    if by.key is not None and key is not None:
        key = by.key(key)
    if by.value is not None and value is not None:
        value = by.value(value)
    return record._replace(key=key, value=value)

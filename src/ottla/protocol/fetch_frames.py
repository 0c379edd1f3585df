"""Pure: Fetch by hand: one unpack per partition to read, buffers around the log's own bytes to write.

Request v4-v18: v7 sessions (KIP-227), v9 leader epoch, v11 rack, v12 flexible and last fetched epoch, v13 topic ids,
v15 replica state. The tagged replica fields (directory id, high watermark) are for followers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from struct import Struct, error
from typing import Any, NamedTuple

from ottla.base.errors import ProtocolError
from ottla.protocol.topic_frames import write_endpoints, write_topic
from ottla.protocol.varint import (
    read_compact_length,
    read_unsigned_varint,
    skip_tagged_fields,
    write_unsigned_varint,
)

FIRST_WITH_SESSIONS = 7
FIRST_FLEXIBLE = 12
FIRST_WITH_TOPIC_ID = 13

_INT16 = Struct(">h")
_INT32 = Struct(">i")
_HEAD_V4 = Struct(">iiiib")
_HEAD_V7 = Struct(">iiiibii")
_HEAD_V15 = Struct(">iiibii")
_PARTITION_V4 = Struct(">iqi")
_PARTITION_V5 = Struct(">iqqi")
_PARTITION_V9 = Struct(">iiqqi")
_PARTITION_V12 = Struct(">iiqiqi")
_REPLICA_STATE = Struct(">iq")
_REPLY_HEAD_V4 = Struct(">iii")
_REPLY_HEAD_V7 = Struct(">iiihi")
_REPLY_HEAD_FLEXIBLE = Struct(">iibihi")
_REPLY_PARTITION_V4 = Struct(">ihqq")
_REPLY_PARTITION_V5 = Struct(">ihqqq")
_ABORTED = Struct(">qq")
_EPOCH_AND_OFFSET = Struct(">iq")
_LEADER = Struct(">ii")
_TAG_REPLICA_STATE = 1
_FIRST_WITH_ENDPOINTS = 16


class FetchPartition(NamedTuple):
    """What a client wants of one partition."""

    partition: int
    current_leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int
    log_start_offset: int
    max_bytes: int


class FetchRequest(NamedTuple):
    """A Fetch request; topics are names, or from v13 on the 16 bytes of their ids."""

    replica_id: int
    replica_epoch: int
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    read_committed: bool
    session_id: int
    session_epoch: int
    topics: list[tuple[str | bytes, list[FetchPartition]]]
    forgotten: list[tuple[str | bytes, list[int]]]
    rack_id: str


class PartitionData(NamedTuple):
    """One partition's part of a Fetch reply; `records` are the log's own bytes, or where they lie."""

    partition: int
    error: int = 0
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    records: Sized = b""
    aborted: tuple[tuple[int, int], ...] | None = None
    diverging_epoch: tuple[int, int] | None = None
    current_leader: tuple[int, int] | None = None
    preferred_read_replica: int = -1


def parse_fetch(buf: memoryview, pos: int, version: int) -> FetchRequest:
    """Read a Fetch body that ends where `buf` ends."""
    try:
        return _parse(buf, pos, version)
    except (error, IndexError, UnicodeDecodeError) as failure:
        raise ProtocolError(f"malformed Fetch v{version} request: {failure}") from None


def _parse(buf: memoryview, pos: int, version: int) -> FetchRequest:
    replica_id, replica_epoch, session_id, session_epoch = -1, -1, 0, -1
    if version >= 15:
        wait, min_bytes, max_bytes, isolation, session_id, session_epoch = _HEAD_V15.unpack_from(
            buf, pos
        )
        pos += _HEAD_V15.size
    elif version >= FIRST_WITH_SESSIONS:
        (replica_id, wait, min_bytes, max_bytes, isolation, session_id, session_epoch) = (
            _HEAD_V7.unpack_from(buf, pos)
        )
        pos += _HEAD_V7.size
    else:
        replica_id, wait, min_bytes, max_bytes, isolation = _HEAD_V4.unpack_from(buf, pos)
        pos += _HEAD_V4.size
    topics, pos = _parse_topics(buf, pos, version)
    forgotten: list[tuple[str | bytes, list[int]]] = []
    if version >= FIRST_WITH_SESSIONS:
        forgotten, pos = _parse_forgotten(buf, pos, version)
    rack_id = ""
    if version >= 11:
        rack_id, pos = _string(buf, pos, version)
    if version >= 15:
        replica_id, replica_epoch = _parse_replica_state(buf, pos)
    # Not FetchRequest(...), which is a Python function: it and FetchPartition(...) took an eighth of the time.
    return tuple.__new__(
        FetchRequest,
        (
            replica_id, replica_epoch, wait, min_bytes, max_bytes, isolation == 1,
            session_id, session_epoch, topics, forgotten, rack_id,
        ),
    )  # fmt: skip


def _parse_topics(
    buf: memoryview, pos: int, version: int
) -> tuple[list[tuple[str | bytes, list[FetchPartition]]], int]:
    flexible = version >= FIRST_FLEXIBLE
    topic_count, pos = _count(buf, pos, version)
    topics = []
    for _ in range(topic_count):
        topic, pos = _topic(buf, pos, version)
        count, pos = _count(buf, pos, version)
        partitions = []
        for _ in range(count):
            partition, pos = _parse_partition(buf, pos, version)
            partitions.append(partition)
        if flexible:
            pos = skip_tagged_fields(buf, pos)
        topics.append((topic, partitions))
    return topics, pos


def _parse_partition(buf: memoryview, pos: int, version: int) -> tuple[FetchPartition, int]:
    if version >= FIRST_FLEXIBLE:
        fields = _PARTITION_V12.unpack_from(buf, pos)
        pos = skip_tagged_fields(buf, pos + _PARTITION_V12.size)
    elif version >= 9:
        index, epoch, offset, start, max_bytes = _PARTITION_V9.unpack_from(buf, pos)
        fields, pos = (index, epoch, offset, -1, start, max_bytes), pos + _PARTITION_V9.size
    elif version >= 5:
        index, offset, start, max_bytes = _PARTITION_V5.unpack_from(buf, pos)
        fields, pos = (index, -1, offset, -1, start, max_bytes), pos + _PARTITION_V5.size
    else:
        index, offset, max_bytes = _PARTITION_V4.unpack_from(buf, pos)
        fields, pos = (index, -1, offset, -1, -1, max_bytes), pos + _PARTITION_V4.size
    return tuple.__new__(FetchPartition, fields), pos


def _parse_forgotten(
    buf: memoryview, pos: int, version: int
) -> tuple[list[tuple[str | bytes, list[int]]], int]:
    topic_count, pos = _count(buf, pos, version)
    forgotten = []
    for _ in range(topic_count):
        topic, pos = _topic(buf, pos, version)
        count, pos = _count(buf, pos, version)
        forgotten.append((topic, [_INT32.unpack_from(buf, pos + 4 * i)[0] for i in range(count)]))
        pos += 4 * max(count, 0)
        if version >= FIRST_FLEXIBLE:
            pos = skip_tagged_fields(buf, pos)
    return forgotten, pos


def _parse_replica_state(buf: memoryview, pos: int) -> tuple[int, int]:
    """From v15 on who is asking is a tagged field, sent by followers only."""
    count, pos = read_unsigned_varint(buf, pos)
    for _ in range(count):
        tag, pos = read_unsigned_varint(buf, pos)
        size, pos = read_unsigned_varint(buf, pos)
        if tag == _TAG_REPLICA_STATE:
            replica_id, replica_epoch = _REPLICA_STATE.unpack_from(buf, pos)
            return replica_id, replica_epoch
        pos += size
    return -1, -1


def _count(buf: memoryview, pos: int, version: int) -> tuple[int, int]:
    if version >= FIRST_FLEXIBLE:
        return read_compact_length(buf, pos)
    (count,) = _INT32.unpack_from(buf, pos)
    if count > len(buf) - pos:
        raise ProtocolError(f"an array of {count} elements does not fit the frame")
    return count, pos + 4


def _topic(buf: memoryview, pos: int, version: int) -> tuple[str | bytes, int]:
    if version >= FIRST_WITH_TOPIC_ID:
        return bytes(buf[pos : pos + 16]), pos + 16
    return _string(buf, pos, version)


def _string(buf: memoryview, pos: int, version: int) -> tuple[str, int]:
    if version >= FIRST_FLEXIBLE:
        size, pos = read_compact_length(buf, pos)
    else:
        (size,) = _INT16.unpack_from(buf, pos)
        pos += 2
    if size < 0 or size > len(buf) - pos:
        raise ProtocolError(f"a string of {size} bytes does not fit the frame")
    return str(buf[pos : pos + size], "utf-8"), pos + size


def encode_fetch_response(
    correlation_id: int,
    version: int,
    error_code: int,
    session_id: int,
    topics: Iterable[tuple[str | bytes, list[PartitionData]]],
    topic_count: int,
    endpoints: Sequence[tuple[int, str, int, str | None]] = (),
) -> list[Any]:
    """The whole reply in pieces; the records, or what stands for them, are passed on untouched."""
    flexible = version >= FIRST_FLEXIBLE
    if flexible:
        out = bytearray(_REPLY_HEAD_FLEXIBLE.pack(0, correlation_id, 0, 0, error_code, session_id))
        write_unsigned_varint(out, topic_count + 1)
    elif version >= FIRST_WITH_SESSIONS:
        out = bytearray(_REPLY_HEAD_V7.pack(0, correlation_id, 0, error_code, session_id))
        out += _INT32.pack(topic_count)
    else:
        out = bytearray(_REPLY_HEAD_V4.pack(0, correlation_id, 0))
        out += _INT32.pack(topic_count)
    first, size = out, 0
    buffers: list[Any] = [out]
    for topic, partitions in topics:
        write_topic(out, topic, len(partitions), flexible)
        for data in partitions:
            _write_partition(out, version, data)
            if data.records:
                # The log's bytes go between two small buffers: joining them would copy each fetched byte.
                size += len(out) + len(data.records)
                out = bytearray()
                buffers += (data.records, out)
            if flexible:
                _write_partition_tags(out, data)
        if flexible:
            out.append(0)
    if flexible:
        write_endpoints(out, endpoints if version >= _FIRST_WITH_ENDPOINTS else ())
    _INT32.pack_into(first, 0, size + len(out) - 4)
    return buffers


def _write_partition(out: bytearray, version: int, data: PartitionData) -> None:
    if version >= 5:
        out += _REPLY_PARTITION_V5.pack(*data[:5])
    else:
        out += _REPLY_PARTITION_V4.pack(*data[:4])
    flexible = version >= FIRST_FLEXIBLE
    aborted = data.aborted
    if aborted is None:
        out += b"\0" if flexible else b"\xff\xff\xff\xff"
    else:
        if flexible:
            write_unsigned_varint(out, len(aborted) + 1)
        else:
            out += _INT32.pack(len(aborted))
        for transaction in aborted:
            out += _ABORTED.pack(*transaction)
            if flexible:
                out.append(0)
    if version >= 11:
        out += _INT32.pack(data.preferred_read_replica)
    if flexible:
        write_unsigned_varint(out, len(data.records) + 1)
    else:
        out += _INT32.pack(len(data.records))


def _write_partition_tags(out: bytearray, data: PartitionData) -> None:
    if data.diverging_epoch is None and data.current_leader is None:
        out.append(0)
        return
    out.append((data.diverging_epoch is not None) + (data.current_leader is not None))
    if data.diverging_epoch is not None:
        out += b"\x00\x0d" + _EPOCH_AND_OFFSET.pack(*data.diverging_epoch) + b"\0"
    if data.current_leader is not None:
        out += b"\x01\x09" + _LEADER.pack(*data.current_leader) + b"\0"

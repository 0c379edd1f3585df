"""Pure: committed offsets as records of `__consumer_offsets`, in Kafka's own format.

A key is (group, topic, partition). A value is written as version 4, or as version 1 where the client named a time at
which the offset expires, since only that version has room for it; Kafka 4.3 does the same. All of 0 to 4 are read.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Final, NamedTuple
from uuid import UUID

from ottla.base.errors import ProtocolError
from ottla.protocol.schema import ZERO_UUID
from ottla.protocol.varint import read_unsigned_varint, write_unsigned_varint

KEY_VERSIONS: Final = (0, 1)
"""Version 0 is what brokers before 0.9 wrote; the bytes behind the number are the same."""

NO_OFFSET: Final = -1
NO_LEADER_EPOCH: Final = -1
NO_EXPIRY: Final = -1

_KEY_VERSION: Final = 1
_LAST_VERSION: Final = 4
_TOPIC_ID_TAG: Final = 0

_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_INT64: Final = struct.Struct(">q")
_VERSION_1_HEAD: Final = struct.Struct(">hqh")
_VERSION_1_TAIL: Final = struct.Struct(">qq")
_VERSION_4_HEAD: Final = struct.Struct(">hqi")
# Without metadata: its length, one more than it is, takes a byte.
_VERSION_4_BARE: Final = struct.Struct(">hqiBq")
_TAGGED_TOPIC_ID: Final = bytes((1, _TOPIC_ID_TAG, 16))
_NO_TAGS: Final = b"\0"
_OFFSET_AND_EPOCH: Final = struct.Struct(">qi")
_EMPTY_TEXT: Final = b"\1"
_NO_ERROR_NO_TAGS: Final = b"\0\0\0"
# A whole answer to OffsetFetch: partition, offset, leader epoch, no metadata, no error, no tags.
_BARE_WIRE: Final = struct.Struct(">iqiBhB")


class OffsetKey(NamedTuple):
    """Whose position, in which partition."""

    group_id: str
    topic: str
    partition: int


class Committed(NamedTuple):
    """A position as it was committed.

    Its attributes are those of an answer to OffsetFetch, and `wire` is that answer in the flexible encoding, so that
    ten thousand of them are answered as they are.
    """

    committed_offset: int
    committed_leader_epoch: int = NO_LEADER_EPOCH
    metadata: str = ""
    commit_timestamp_ms: int = 0
    expire_timestamp_ms: int = NO_EXPIRY
    topic_id: UUID = ZERO_UUID
    partition_index: int = -1
    error_code: int = 0
    wire: bytes = b""


def no_position(partition: int, error: int = 0) -> Committed:
    """What is answered where there is no position, or where it is not told."""
    return _no_position(partition, int(error))


@lru_cache(maxsize=16_384)
def _no_position(partition: int, error: int) -> Committed:
    head = _INT32.pack(partition) + _OFFSET_AND_EPOCH.pack(NO_OFFSET, NO_LEADER_EPOCH)
    wire = head + _EMPTY_TEXT + _INT16.pack(error) + _NO_TAGS
    return Committed(NO_OFFSET, partition_index=partition, error_code=error, wire=wire)


def encode_key(group_id: str, topic: str, partition: int) -> bytes:
    """The key under which a position is kept."""
    return _key_prefix(group_id, topic) + _INT32.pack(partition)


# Consumers commit the same partitions over and over.
@lru_cache(maxsize=4096)
def key_of(group_id: str, topic: str, partition: int) -> tuple[OffsetKey, bytes]:
    """Whose position, and the key under which it is kept."""
    return OffsetKey(group_id, topic, partition), encode_key(group_id, topic, partition)


@lru_cache(maxsize=4096)
def _key_prefix(group_id: str, topic: str) -> bytes:
    """What the keys of all partitions of a topic have in common: only the partition's four bytes are missing."""
    group, name = group_id.encode(), topic.encode()
    return b"".join(
        (_INT16.pack(_KEY_VERSION), _INT16.pack(len(group)), group, _INT16.pack(len(name)), name)
    )


def decode_key(key: bytes) -> OffsetKey:
    """Read the key of a position, its version included; ProtocolError if it is none."""
    group_id, topic = _decode_prefix(key[:-4])
    return OffsetKey(group_id, topic, _INT32.unpack_from(key, len(key) - 4)[0])


# A log says the same names over and over; kept, they also are the same objects wherever they are used.
@lru_cache(maxsize=4096)
def _decode_prefix(prefix: bytes) -> tuple[str, str]:
    try:
        if _INT16.unpack_from(prefix)[0] not in KEY_VERSIONS:
            raise ProtocolError("not the key of a committed offset")
        group_id, pos = _string(prefix, 2)
        topic, pos = _string(prefix, pos)
    except (struct.error, UnicodeDecodeError) as flaw:
        raise ProtocolError(f"the key of a committed offset is damaged: {flaw}") from None
    if pos != len(prefix):
        raise ProtocolError("the key of a committed offset does not end where it should")
    return group_id, topic


def encode_value(committed: Committed) -> bytes:
    """A position as a record's value."""
    return encode_position(*committed[:5], topic_tags(committed.topic_id))


def topic_tags(topic_id: UUID) -> bytes:
    """The end of a value, which says of which topic the position is; nothing for a topic without an id."""
    return _topic_tags(topic_id.int)


# By number: the hash of a UUID is a Python function.
@lru_cache(maxsize=4096)
def _topic_tags(number: int) -> bytes:
    return _TAGGED_TOPIC_ID + number.to_bytes(16, "big") if number else _NO_TAGS


def encode_position(
    offset: int, leader_epoch: int, text: str, commit_ms: int, expire_ms: int, tags: bytes
) -> bytes:
    """The same for the parts of a position, as a commit names them; `text` is its metadata."""
    if expire_ms == NO_EXPIRY and not text:
        return _VERSION_4_BARE.pack(_LAST_VERSION, offset, leader_epoch, 1, commit_ms) + tags
    metadata = text.encode()
    if expire_ms != NO_EXPIRY:
        head = _VERSION_1_HEAD.pack(1, offset, len(metadata))
        return head + metadata + _VERSION_1_TAIL.pack(commit_ms, expire_ms)
    value = bytearray(_VERSION_4_HEAD.pack(_LAST_VERSION, offset, leader_epoch))
    write_unsigned_varint(value, len(metadata) + 1)
    value += metadata
    value += _INT64.pack(commit_ms)
    value += tags
    return bytes(value)


def patch_position(
    buf: bytearray, pos: int, offset: int, leader_epoch: int, commit_ms: int
) -> None:
    """Write another offset into a value that has neither metadata nor a time at which it expires."""
    _VERSION_4_BARE.pack_into(buf, pos, _LAST_VERSION, offset, leader_epoch, 1, commit_ms)


def bare_position(
    offset: int, leader_epoch: int, commit_ms: int, topic_id: UUID, partition: int
) -> Committed:
    """What is read from the value of a position that has neither metadata nor a time at which it expires."""
    wire = _BARE_WIRE.pack(partition, offset, leader_epoch, 1, 0, 0)
    return tuple.__new__(
        Committed,
        (offset, leader_epoch, "", commit_ms, NO_EXPIRY, topic_id, partition, 0, wire),
    )


def decode_value(value: bytes, partition: int = -1) -> Committed:
    """Read a position in a partition, in any version; ProtocolError if the bytes are none."""
    try:
        [version] = _INT16.unpack_from(value)
        if not 0 <= version <= _LAST_VERSION:
            raise ProtocolError(f"version {version} of a committed offset is not known here")
        if version == _LAST_VERSION:
            return _decode_flexible(value, partition)
        return _decode(value, version, partition)
    except (struct.error, IndexError, UnicodeDecodeError) as flaw:
        raise ProtocolError(f"a committed offset is damaged: {flaw}") from None


def _decode(value: bytes, version: int, partition: int) -> Committed:
    [offset], pos = _INT64.unpack_from(value, 2), 10
    leader_epoch, expire_timestamp_ms = NO_LEADER_EPOCH, NO_EXPIRY
    if version == 3:
        [leader_epoch], pos = _INT32.unpack_from(value, pos), pos + 4
    metadata, pos = _string(value, pos)
    [commit_timestamp_ms], pos = _INT64.unpack_from(value, pos), pos + 8
    if version == 1:
        [expire_timestamp_ms] = _INT64.unpack_from(value, pos)
    times = commit_timestamp_ms, expire_timestamp_ms
    wire = bytearray(_INT32.pack(partition) + _OFFSET_AND_EPOCH.pack(offset, leader_epoch))
    encoded = metadata.encode()
    write_unsigned_varint(wire, len(encoded) + 1)
    wire += encoded + _NO_ERROR_NO_TAGS
    return Committed(offset, leader_epoch, metadata, *times, ZERO_UUID, partition, wire=bytes(wire))


def _decode_flexible(value: bytes, partition: int) -> Committed:
    _, offset, leader_epoch, size, commit_timestamp_ms = _VERSION_4_BARE.unpack_from(value)
    metadata, pos = "", _VERSION_4_HEAD.size + 1
    if size != 1:
        size, pos = read_unsigned_varint(memoryview(value), _VERSION_4_HEAD.size)
        metadata, pos = _text(value, pos, size - 1)
        [commit_timestamp_ms] = _INT64.unpack_from(value, pos)
    tags = value[pos + 8 :]
    topic_id = ZERO_UUID if tags == _NO_TAGS else _tagged_topic_id(tags)
    # Offset, leader epoch and metadata are in the record as they are in an answer.
    wire = _INT32.pack(partition) + value[2:pos] + _NO_ERROR_NO_TAGS
    times = commit_timestamp_ms, NO_EXPIRY
    return tuple.__new__(
        Committed, (offset, leader_epoch, metadata, *times, topic_id, partition, 0, wire)
    )


@lru_cache(maxsize=4096)
def _tagged_topic_id(tags: bytes) -> UUID:
    """The one tag that is known; Kafka may add others, which are skipped."""
    found, value = ZERO_UUID, memoryview(tags)
    count, pos = read_unsigned_varint(value, 0)
    for _ in range(count):
        tag, pos = read_unsigned_varint(value, pos)
        size, pos = read_unsigned_varint(value, pos)
        if pos + size > len(value):
            raise ProtocolError(f"a tagged field of {size} bytes does not fit a committed offset")
        if tag == _TOPIC_ID_TAG:
            if size != 16:
                raise ProtocolError(f"a topic id of {size} bytes")
            found = UUID(bytes=bytes(value[pos : pos + size]))
        pos += size
    return found


def _string(data: bytes, pos: int) -> tuple[str, int]:
    [size] = _INT16.unpack_from(data, pos)
    return _text(data, pos + 2, size)


def _text(data: bytes, pos: int, size: int) -> tuple[str, int]:
    end = pos + size
    if size < 0 or end > len(data):
        raise ProtocolError(
            f"a text of {size} bytes does not fit the {len(data) - pos} that are left"
        )
    return data[pos:end].decode(), end

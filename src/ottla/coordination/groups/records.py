"""Pure: classic groups as records of `__consumer_offsets`, in Kafka's own format, and what the keys of that topic mean.

The first two bytes of a key say what the record is: 0 and 1 an offset, 2 a classic group, 3 and up the parts of
consumer groups (KIP-848) and of kinds that are not served here, which are passed over.
"""

from __future__ import annotations

import struct
from typing import Final

from ottla.base.errors import ProtocolError
from ottla.coordination.decision import KeyValue
from ottla.protocol.decoders import decoder
from ottla.protocol.encoders import encoder
from ottla.protocol.schema import Struct, array, blob, int32, int64, string

GROUP_KEY_VERSION: Final = 2

# Kafka 4.3 writes version 3; 4 is the same in the flexible encoding.
_WRITTEN_VERSION: Final = 3
_FLEXIBLE_VERSION: Final = 4
_INT16: Final = struct.Struct(">h")


class GroupKey(Struct):
    """The key of a classic group."""

    group_id: str = string()


class GroupMember(Struct):
    """An element of GroupValue.members."""

    member_id: str = string()
    group_instance_id: str | None = string(None, since=3, nullable=True)
    client_id: str = string()
    client_host: str = string()
    rebalance_timeout_ms: int = int32(since=1)
    session_timeout_ms: int = int32()
    subscription: bytes = blob()
    assignment: bytes = blob()


class GroupValue(Struct):
    """One generation of a classic group: who was in it and who got what."""

    protocol_type: str = string()
    generation: int = int32()
    protocol: str | None = string(None, nullable=True)
    leader: str | None = string(None, nullable=True)
    state_timestamp_ms: int = int64(-1, since=2)
    members: list[GroupMember] = array(GroupMember)


def key_version(key: bytes) -> int:
    """What kind of record a key belongs to."""
    try:
        return int(_INT16.unpack_from(key)[0])
    except struct.error:
        raise ProtocolError(f"a key of {len(key)} bytes has no version") from None


def group_record(group_id: str, value: GroupValue | None) -> KeyValue:
    """The record of a group's new generation; None is its tombstone."""
    key = bytearray(_INT16.pack(GROUP_KEY_VERSION))
    encoder(GroupKey, 0, False)(GroupKey(group_id=group_id), key)
    if value is None:
        return bytes(key), None
    encoded = bytearray(_INT16.pack(_WRITTEN_VERSION))
    encoder(GroupValue, _WRITTEN_VERSION, False)(value, encoded)
    return bytes(key), bytes(encoded)


def decode_group_key(key: bytes) -> str:
    """The group that a key of version 2 names."""
    found: GroupKey = decoder(GroupKey, 0, False)(memoryview(key), _INT16.size, len(key))
    return found.group_id


def decode_group_value(value: bytes) -> GroupValue:
    """Read a group in any version; ProtocolError if the bytes are none."""
    version = key_version(value)
    if not 0 <= version <= _FLEXIBLE_VERSION:
        raise ProtocolError(f"version {version} of a group's metadata is not known here")
    decode = decoder(GroupValue, version, version >= _FLEXIBLE_VERSION)
    found: GroupValue = decode(memoryview(value), _INT16.size, len(value))
    return found

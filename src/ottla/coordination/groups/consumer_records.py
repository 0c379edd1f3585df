"""Pure: consumer groups (KIP-848) as records of `__consumer_offsets`, in the format of Kafka 4.3.

A group is several records: one for its epoch, one for the epoch of its target assignment, and for each member one for
what it said of itself, one for what it shall own and one for what it owns. A pattern that members subscribe to has a
record with the topics it matches. Values are of version 0, all flexible; keys are plain.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterable, Mapping
from enum import IntEnum
from functools import lru_cache
from typing import Final, NamedTuple
from uuid import UUID

from ottla.base.errors import ProtocolError
from ottla.coordination.decision import KeyValue
from ottla.protocol.decoders import decoder
from ottla.protocol.encoders import encoder
from ottla.protocol.schema import Struct, array, blob, int8, int32, int64, nested, string, uuid
from ottla.protocol.varint import write_unsigned_varint

_INT16: Final = struct.Struct(">h")
_KIND_AND_SIZE: Final = struct.Struct(">hh")
_VERSION: Final = _INT16.pack(0)
_CURRENT: Final = struct.Struct(">hiib")
_EPOCH: Final = struct.Struct(">hi3Bq")
_EPOCH_ALONE: Final = struct.Struct(">hix")


class Kind(IntEnum):
    """What a record says of a consumer group: the version of its key."""

    EPOCH = 3
    # Kafka up to 4.0 kept the partitions of the topics here; what is left of it is only ever erased.
    PARTITION_METADATA = 4
    MEMBER = 5
    TARGET_EPOCH = 6
    TARGET = 7
    CURRENT = 8
    PATTERN = 16


KEY_VERSIONS: Final = frozenset(Kind)
_WITH_MEMBER: Final = frozenset({Kind.MEMBER, Kind.TARGET, Kind.CURRENT, Kind.PATTERN})


MEMBER_KINDS: Final = (Kind.CURRENT, Kind.TARGET, Kind.MEMBER)
"""What there is of a member, in the order in which it is erased: so no partition is left without its owner."""


class GroupKey(Struct):
    """The key of what is there once for each group."""

    group_id: str = string()


class MemberKey(Struct):
    """The key of what is there for each member, or for each pattern."""

    group_id: str = string()
    member_id: str = string()


class Epoch(Struct):
    """The group's epoch, and a hash of the topics that it is about."""

    epoch: int = int32()
    metadata_hash: int = int64(0, tag=0)


class ClassicProtocol(Struct):
    """An element of ClassicMember.supported_protocols."""

    name: str = string()
    metadata: bytes = blob()


class ClassicMember(Struct):
    """What is known of a member that speaks the classic protocol."""

    session_timeout_ms: int = int32()
    supported_protocols: list[ClassicProtocol] = array(ClassicProtocol)


class MemberValue(Struct):
    """What a member said of itself."""

    instance_id: str | None = string(None, nullable=True)
    rack_id: str | None = string(None, nullable=True)
    client_id: str = string()
    client_host: str = string()
    subscribed_topic_names: list[str] = array(string)
    subscribed_topic_regex: str | None = string(None, nullable=True)
    rebalance_timeout_ms: int = int32(-1)
    server_assignor: str | None = string(None, nullable=True)
    classic_member_metadata: ClassicMember | None = nested(ClassicMember, tag=0, nullable=True)


class TargetEpoch(Struct):
    """The group epoch that the target assignment is for, and when it was worked out."""

    assignment_epoch: int = int32()
    assignment_timestamp_ms: int = int64(0, tag=0)


class TargetPartitions(Struct):
    """An element of TargetValue.topic_partitions."""

    topic_id: UUID = uuid()
    partitions: list[int] = array(int32)


class TargetValue(Struct):
    """What a member shall own."""

    topic_partitions: list[TargetPartitions] = array(TargetPartitions)


class OwnedPartitions(Struct):
    """An element of CurrentValue.assigned_partitions; each partition with the epoch since which it is owned."""

    topic_id: UUID = uuid()
    partitions: list[int] = array(int32)
    assignment_epochs: list[int] = array(int32, tag=0)


class CurrentValue(Struct):
    """What a member owns, and what it has yet to give up."""

    member_epoch: int = int32()
    previous_member_epoch: int = int32()
    state: int = int8()
    assigned_partitions: list[OwnedPartitions] = array(OwnedPartitions)
    partitions_pending_revocation: list[OwnedPartitions] = array(OwnedPartitions)


class PatternValue(Struct):
    """The topics that a pattern matches, when that was found out, and in which version of the metadata."""

    topics: list[str] = array(string)
    version: int = int64()
    timestamp_ms: int = int64()


_VALUES: Final[dict[Kind, type[Struct]]] = {
    Kind.EPOCH: Epoch,
    Kind.MEMBER: MemberValue,
    Kind.TARGET_EPOCH: TargetEpoch,
    Kind.TARGET: TargetValue,
    Kind.CURRENT: CurrentValue,
    Kind.PATTERN: PatternValue,
}

# Kafka writes the absence of classic metadata out: one tagged field, number 0, one byte, null.
_NO_TAGS: Final = b"\0"
_NO_CLASSIC_METADATA: Final = b"\1\0\1\0"


class Key(NamedTuple):
    """Which record of which group; `name` is the member or the pattern, if there is one for each."""

    kind: Kind
    group_id: str
    name: str = ""


def decode_key(key: bytes) -> Key:
    """Read a key whose version is one of KEY_VERSIONS."""
    kind = Kind(_INT16.unpack_from(key)[0])
    view = memoryview(key)
    if kind in _WITH_MEMBER:
        found: MemberKey = decoder(MemberKey, 0, False)(view, _INT16.size, len(key))
        return Key(kind, found.group_id, found.member_id)
    group: GroupKey = decoder(GroupKey, 0, False)(view, _INT16.size, len(key))
    return Key(kind, group.group_id)


def decode_value(kind: Kind, value: bytes) -> Struct | None:
    """Read a value; None for a kind that means nothing any more."""
    cls = _VALUES.get(kind)
    if cls is None:
        return None
    if value[: _INT16.size] != _VERSION:
        raise ProtocolError(f"a value of {kind.name} has an unknown version")
    found: Struct = decoder(cls, 0, True)(memoryview(value), _INT16.size, len(value))
    return found


def record(kind: Kind, group_id: str, value: Struct, name: str = "") -> KeyValue:
    """The record that says `value` of a group, a member or a pattern."""
    return _key(kind, group_id, name), encode_value(value)


def encode_value(value: Struct) -> bytes:
    """A value as the tables say."""
    encoded = bytearray(_VERSION)
    encoder(type(value), 0, True)(value, encoded)
    if isinstance(value, MemberValue) and value.classic_member_metadata is None:
        encoded[-len(_NO_TAGS) :] = _NO_CLASSIC_METADATA
    return bytes(encoded)


def epoch_record(kind: Kind, group_id: str, epoch: int, tagged: int) -> KeyValue:
    """An Epoch or a TargetEpoch, as the tables say: a number, and a tagged one of eight bytes that may be left out."""
    value = _EPOCH.pack(0, epoch, 1, 0, 8, tagged) if tagged else _EPOCH_ALONE.pack(0, epoch)
    return _key(kind, group_id, ""), value


def member_record(kind: Kind, group_id: str, member_id: str, value: bytes) -> KeyValue:
    """The record that says of a member what is encoded already."""
    return _key(kind, group_id, member_id), value


def encode_target(target: Mapping[UUID, Collection[int]]) -> bytes:
    """A TargetValue, as the tables say; by hand, since an epoch has one for each member."""
    parts = [_VERSION, _length(len(target))]
    for topic_id, partitions in target.items():
        parts += (topic_id.bytes, _numbers(sorted(partitions)), _NO_TAGS)
    parts.append(_NO_TAGS)
    return b"".join(parts)


def encode_current(
    epochs: tuple[int, int],
    state: int,
    assigned: Mapping[UUID, Mapping[int, int]],
    pending_revocation: Mapping[UUID, Mapping[int, int]],
) -> bytes:
    """A CurrentValue, likewise; of the epochs the first is the member's, the second the one before."""
    parts = [_CURRENT.pack(0, *epochs, state)]
    for owned in (assigned, pending_revocation):
        parts.append(_length(len(owned)))
        for topic_id, partitions in owned.items():
            parts += (topic_id.bytes, _numbers(partitions), _tagged_numbers(partitions.values()))
    parts.append(_NO_TAGS)
    return b"".join(parts)


def tombstone(kind: Kind, group_id: str, name: str = "") -> KeyValue:
    """The record that erases such a record."""
    return _key(kind, group_id, name), None


def group_tombstones(
    group_id: str, member_ids: Iterable[str], patterns: Iterable[str]
) -> list[KeyValue]:
    """What erases a group, its members before it."""
    members = list(member_ids)
    return [
        *(tombstone(Kind.CURRENT, group_id, member_id) for member_id in members),
        *(tombstone(Kind.TARGET, group_id, member_id) for member_id in members),
        tombstone(Kind.TARGET_EPOCH, group_id),
        *(tombstone(Kind.MEMBER, group_id, member_id) for member_id in members),
        *(tombstone(Kind.PATTERN, group_id, pattern) for pattern in patterns),
        tombstone(Kind.PARTITION_METADATA, group_id),
        tombstone(Kind.EPOCH, group_id),
    ]


def _key(kind: Kind, group_id: str, name: str) -> bytes:
    """As the tables say; by hand, since it is done for every record."""
    key = _KIND_AND_SIZE.pack(kind, len(group := group_id.encode())) + group
    if name or kind in _WITH_MEMBER:
        key += _INT16.pack(len(member := name.encode())) + member
    return key


def _numbers(numbers: Collection[int]) -> bytes:
    """An array of numbers."""
    length, pack = _run(len(numbers))
    return length + pack(*numbers)


def _tagged_numbers(numbers: Collection[int]) -> bytes:
    """The tagged fields of what has one of them, number 0, an array of numbers; it is left out if there are none."""
    if not numbers:
        return _NO_TAGS
    field = _numbers(numbers)
    return b"\1\0" + _varint(len(field)) + field


@lru_cache(maxsize=1024)
def _run(count: int) -> tuple[bytes, Callable[..., bytes]]:
    """What is before an array of so many numbers, and what packs these."""
    return _length(count), struct.Struct(f">{count}i").pack


def _length(count: int) -> bytes:
    return _varint(count + 1)


@lru_cache(maxsize=1024)
def _varint(number: int) -> bytes:
    out = bytearray()
    write_unsigned_varint(out, number)
    return bytes(out)

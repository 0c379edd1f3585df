"""Pure: what consumers of classic groups tell each other through the coordinator: subscriptions and assignments.

Brokers pass these bytes on unread; the coordinator looks into them only to know which topics a group reads, for people
who ask who owns what, and to carry a group from one protocol to the other.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any, Final

from ottla.base.errors import ProtocolError
from ottla.protocol.decoders import decoder
from ottla.protocol.encoders import encoder
from ottla.protocol.schema import Struct, array, blob, int16, int32, string

CONSUMER: Final = "consumer"
"""The protocol type of consumers."""

_LAST_KNOWN: Final = 3
_VERSION_AND_COUNT: Final = struct.Struct(">hi")
_NO_USER_DATA: Final = struct.pack(">i", -1)


class _Version(Struct):
    version: int = int16()


class TopicPartitions(Struct):
    """Partitions of one topic."""

    topic: str = string()
    partitions: list[int] = array(int32)


class Subscription(Struct):
    """What a consumer wants to read, and what it owns."""

    topics: list[str] = array(string)
    user_data: bytes | None = blob(None, nullable=True)
    owned_partitions: list[TopicPartitions] = array(TopicPartitions, since=1)
    generation: int = int32(-1, since=2)
    rack: str | None = string(None, since=3, nullable=True)


class Assignment(Struct):
    """What a consumer shall read."""

    partitions: list[TopicPartitions] = array(TopicPartitions)
    user_data: bytes | None = blob(None, nullable=True)


def decode_subscription(data: bytes) -> Subscription:
    """Read a subscription; what a newer version adds at the end is passed over."""
    found: Subscription = _decode(Subscription, data)
    return found


def decode_assignment(data: bytes) -> Assignment:
    """Read an assignment; no bytes at all are an assignment of nothing."""
    if not data:
        return Assignment()
    found: Assignment = _decode(Assignment, data)
    return found


def encode_assignment(assignment: Assignment, version: int = 0) -> bytes:
    """Write an assignment."""
    out = bytearray()
    encoder(_Version, 0, False)(_Version(version=version), out)
    encoder(Assignment, min(version, _LAST_KNOWN), False)(assignment, out)
    return bytes(out)


def encode_partitions(partitions: Iterable[tuple[str, Sequence[int]]], version: int = 0) -> bytes:
    """An assignment without user data; by hand, since an epoch of a consumer group has one for each member."""
    parts = [
        struct.pack(f">h{len(name)}si{len(numbers)}i", len(name), name, len(numbers), *numbers)
        for name, numbers in ((topic.encode(), numbers) for topic, numbers in partitions)
    ]
    return _VERSION_AND_COUNT.pack(version, len(parts)) + b"".join(parts) + _NO_USER_DATA


def encode_subscription(subscription: Subscription, version: int = _LAST_KNOWN) -> bytes:
    """Write a subscription."""
    out = bytearray()
    encoder(_Version, 0, False)(_Version(version=version), out)
    encoder(Subscription, min(version, _LAST_KNOWN), False)(subscription, out)
    return bytes(out)


def subscribed_topics(data: bytes) -> frozenset[str] | None:
    """The topics that a subscription names; None if it cannot be read."""
    try:
        return frozenset(decode_subscription(data).topics)
    except ProtocolError:
        return None


def _decode(cls: type[Struct], data: bytes) -> Any:
    if len(data) < 2:
        raise ProtocolError(f"{cls.__name__} of {len(data)} bytes has no version")
    version = int.from_bytes(data[:2], "big", signed=True)
    if version < 0:
        raise ProtocolError(f"{cls.__name__} of version {version}")
    return decoder(cls, min(version, _LAST_KNOWN), False)(memoryview(data), 2, len(data))

"""Pure: which topics the members of a consumer group want, by name and by pattern, and whether that has changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import NamedTuple
from uuid import UUID

from ottla.base.errors import ApiError
from ottla.cluster.image import Image
from ottla.coordination.decision import KeyValue
from ottla.coordination.groups.consumer_member import Member
from ottla.coordination.groups.consumer_records import Kind, PatternValue, record
from ottla.coordination.groups.topic_pattern import BadPattern, TopicPattern
from ottla.protocol.errors import ErrorCode


class Resolved(NamedTuple):
    """The topics that a pattern matched, and when."""

    topics: frozenset[str]
    at_ms: int

    @classmethod
    def read(cls, value: PatternValue) -> Resolved:
        """What such a record says."""
        return cls(frozenset(value.topics), value.timestamp_ms)

    def record(self, group_id: str, pattern: str) -> KeyValue:
        """The match, for the log; Kafka's offset in its metadata log has no counterpart here."""
        value = PatternValue(topics=sorted(self.topics), version=0, timestamp_ms=self.at_ms)
        return record(Kind.PATTERN, group_id, value, pattern)


def compile_pattern(pattern: str) -> TopicPattern:
    """A pattern ready to match; ApiError tells the member what is wrong with it."""
    try:
        return TopicPattern(pattern)
    except BadPattern as bad:
        raise ApiError(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"SubscribedTopicRegex `{pattern}` is not a valid regular expression: {bad}.",
        ) from bad


def topics_of(member: Member, resolved: Mapping[str, Resolved]) -> frozenset[str]:
    """The names that a member subscribes to, those that its pattern matched included."""
    matched = resolved.get(member.pattern) if member.pattern else None
    if matched is None or not matched.topics:
        return member.topics
    return matched.topics | member.topics if member.topics else matched.topics


def ids_of(names: Iterable[str], image: Image) -> frozenset[UUID]:
    """The ids of those topics that exist."""
    topics = image.topics
    return frozenset(topics[name].topic_id for name in names if name in topics)


def metadata_hash(names: Iterable[str], image: Image) -> int:
    """A number that differs when a topic of these comes, goes, is made anew or gets partitions; 0 if there is none.

    Kafka hashes the same facts, and racks, in another way; it only ever compares with what it has written itself, and
    works out the assignment once more when it takes over.
    """
    found = [image.topics[name] for name in sorted(names) if name in image.topics]
    if not found:
        return 0
    digest = blake2b(digest_size=8)
    for topic in found:
        digest.update(topic.topic_id.bytes)
        digest.update(len(topic.partitions).to_bytes(4, "big"))
    return int.from_bytes(digest.digest(), "big", signed=True)

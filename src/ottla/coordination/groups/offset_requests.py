"""Pure: what requests about offsets decide: whether the group lets them, then what the offsets make of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Final, NamedTuple, cast
from uuid import UUID

from ottla.base.ids import TopicPartition
from ottla.coordination.decision import Decision, Token, Transactional, refuse
from ottla.coordination.groups.offset_history import COMMIT, Author
from ottla.coordination.groups.offset_records import Committed, no_position
from ottla.coordination.groups.offset_rules import OffsetGroup, OffsetShard
from ottla.coordination.groups.offsets import TopicToCommit
from ottla.protocol.apis.offset_fetch import (
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from ottla.protocol.errors import ErrorCode
from ottla.protocol.schema import ZERO_UUID

_NO_GENERATION: Final = -1
_FIRST_WITH_MEMBER_EPOCHS: Final = 9
_WRONG_EPOCH: Final = frozenset({ErrorCode.STALE_MEMBER_EPOCH, ErrorCode.ILLEGAL_GENERATION})


class Commit(NamedTuple):
    """Positions that somebody wants to keep; all their topics and partitions exist."""

    group_id: str
    topics: Sequence[TopicToCommit]
    version: int
    member_id: str = ""
    instance_id: str | None = None
    generation: int = _NO_GENERATION
    client_id: str = ""
    retention_ms: int = -1
    transactional: Transactional | None = None

    @property
    def knows_epochs(self) -> bool:
        """Whether it is of a version for members of the consumer protocol (KIP-848)."""
        return self.transactional is None and self.version >= _FIRST_WITH_MEMBER_EPOCHS


class TopicToFetch(NamedTuple):
    """The positions that somebody wants to know; with an id, only those of the topic that has it."""

    name: str
    partitions: Sequence[int]
    topic_id: UUID = ZERO_UUID


class Fetch(NamedTuple):
    """Positions of one group that somebody wants to know; without topics, all of them."""

    group_id: str
    topics: Sequence[TopicToFetch] | None
    require_stable: bool = False
    member_id: str | None = None
    member_epoch: int = -1


def commit(shard: OffsetShard, asked: Commit, token: Token, now_ms: int) -> Decision:
    """Keep positions, at once or when the transaction commits; answered with an error code for each partition."""
    group_id, topics, _, member_id, _, _, client_id, retention_ms, transactional = asked
    group = shard.groups.get(group_id)
    error = _commit_error(group, asked)
    if error:
        return refuse(token, error)
    if group is not None and transactional is None:
        group.committed_by(member_id, now_ms)
    records, positions, errors = shard.offsets.commit(
        group_id, topics, now_ms, retention_ms=retention_ms
    )
    replay = partial(shard.place, positions, transactional, _author(member_id, client_id))
    return tuple.__new__(Decision, (records, ((token, errors),), transactional, None, replay))


@lru_cache(maxsize=1024)
def _author(member_id: str, client_id: str) -> Author:
    return Author(COMMIT, member_id, client_id)


def _commit_error(group: OffsetGroup | None, asked: Commit) -> int:
    if group is None:
        if asked.generation < 0:
            return ErrorCode.NONE
        return ErrorCode.GROUP_ID_NOT_FOUND if asked.knows_epochs else ErrorCode.ILLEGAL_GENERATION
    error = group.check_commit(asked)
    if not error:
        return ErrorCode.NONE
    if error in _WRONG_EPOCH and _is_only_late(group, asked):
        return ErrorCode.NONE
    if error == ErrorCode.STALE_MEMBER_EPOCH and asked.transactional is not None:
        return ErrorCode.ILLEGAL_GENERATION
    return error


def _is_only_late(group: OffsetGroup, asked: Commit) -> bool:
    """Whether the member has moved on to another epoch meanwhile, but keeps all that it commits."""
    return all(
        group.has_held(asked.member_id, asked.generation, topic.topic_id, each.partition_index)
        for topic in asked.topics
        for each in topic.partitions
    )


def fetch(shard: OffsetShard, asked: Fetch) -> OffsetFetchResponseGroup:
    """The positions of a group as it is answered; one that does not exist has none, which is no error."""
    group = shard.groups.get(asked.group_id)
    if group is not None:
        error = group.check_offset_fetch(asked.member_id, asked.member_epoch)
        if error:
            return OffsetFetchResponseGroup(group_id=asked.group_id, error_code=error)
    topics = asked.topics
    if topics is None:
        known = shard.offsets.topics(asked.group_id)
        topics = [TopicToFetch(name, tuple(positions)) for name, positions in known.items()]
    return OffsetFetchResponseGroup(
        group_id=asked.group_id, topics=[_fetch_topic(shard, asked, topic) for topic in topics]
    )


def _fetch_topic(
    shard: OffsetShard, asked: Fetch, topic: TopicToFetch
) -> OffsetFetchResponseTopics:
    known = shard.offsets.topics(asked.group_id).get(topic.name, {})
    unstable = shard.offsets.unstable(asked.group_id, topic.name) if asked.require_stable else ()
    answers = [known.get(index) or no_position(index) for index in topic.partitions]
    if topic.topic_id.int:
        answers = [
            no_position(each.partition_index)
            if _is_of_another_topic(each, topic.topic_id)
            else each
            for each in answers
        ]
    if unstable:
        answers = [
            no_position(each.partition_index, ErrorCode.UNSTABLE_OFFSET_COMMIT)
            if each.partition_index in unstable
            else each
            for each in answers
        ]
    return OffsetFetchResponseTopics(
        name=topic.name,
        topic_id=topic.topic_id,
        # A position answers for itself: it has all that is encoded.
        partitions=cast("list[OffsetFetchResponsePartitions]", answers),
    )


def _is_of_another_topic(found: Committed, topic_id: UUID) -> bool:
    """Whether a position was committed in a topic of this name that has been deleted since."""
    stored = found.topic_id
    return stored is not topic_id and stored != topic_id and bool(stored.int)


def delete(
    shard: OffsetShard, group_id: str, wanted: Sequence[TopicPartition], token: Token, now_ms: int
) -> Decision:
    """Forget positions in topics that nobody subscribes to; answered with an error code for each partition."""
    if not group_id:
        return refuse(token, ErrorCode.INVALID_GROUP_ID)
    group = shard.groups.get(group_id)
    if group is None:
        return refuse(token, ErrorCode.GROUP_ID_NOT_FOUND)
    error = group.check_offset_delete()
    if error:
        return refuse(token, error)
    subscribed = {name for name in {tp.topic for tp in wanted} if group.subscribes_to(name)}
    records = shard.offsets.delete(
        group_id, (tp for tp in wanted if tp.topic not in subscribed), now_ms
    )
    errors = [
        ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if tp.topic in subscribed else ErrorCode.NONE
        for tp in wanted
    ]
    return Decision(records, ((token, errors),))

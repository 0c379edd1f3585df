"""OffsetFetch (api 9, v1-v10).

Versions: v2 all topics by null, one error for the group · v5 leader epoch · v6 flexible · v7 stable offsets only
(KIP-447) · v8 several groups (KIP-709) · v9 member epochs (KIP-848) · v10 topic ids.
Differs from Apache Kafka: none known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from ottla.base.errors import ApiError
from ottla.broker import offset_frames
from ottla.broker.context import RequestContext
from ottla.broker.later import ask_each
from ottla.broker.reply import Pending
from ottla.coordination.decision import Token
from ottla.coordination.groups.offset_records import no_position
from ottla.coordination.groups.offset_requests import Fetch, TopicToFetch, fetch
from ottla.protocol.apis.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from ottla.protocol.errors import ErrorCode
from ottla.protocol.schema import ZERO_UUID

_FIRST_WITH_GROUP_ERROR = 2
_FIRST_WITH_IDS = 10


def handle(context: RequestContext, request: OffsetFetchRequest) -> Pending:
    """Read the positions of one group, or of several that may live in different machines."""
    groups = _groups(context, request)
    return ask_each(
        context,
        [_reading(context, _fetch(context, request, group)) for group in groups],
        lambda answers: _response(context, groups, answers),
    )


def _reading(context: RequestContext, asked: Fetch) -> Callable[[Token], None]:
    groups = context.broker.groups
    return lambda token: groups.read(asked.group_id, lambda shard, _: fetch(shard, asked), token)


def _groups(context: RequestContext, request: OffsetFetchRequest) -> list[OffsetFetchRequestGroup]:
    """The one group of an old request, as a new one would name it."""
    if context.version >= offset_frames.FIRST_VERSION:
        return request.groups
    topics = None
    if request.topics is not None:
        topics = [
            OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)
            for topic in request.topics
        ]
    return [OffsetFetchRequestGroup(group_id=request.group_id, topics=topics)]


def _fetch(
    context: RequestContext, request: OffsetFetchRequest, group: OffsetFetchRequestGroup
) -> Fetch:
    topics = None
    if group.topics is not None:
        topics = _known(context, group.topics)
    return Fetch(
        group.group_id, topics, request.require_stable, group.member_id, group.member_epoch
    )


def _known(
    context: RequestContext, topics: Sequence[OffsetFetchRequestTopics]
) -> list[TopicToFetch]:
    """The topics by name; ids that mean nothing are left out, and answered when the rest is."""
    if context.version < _FIRST_WITH_IDS:
        return [TopicToFetch(topic.name, topic.partition_indexes) for topic in topics]
    by_id = context.broker.metadata.image.topics_by_id
    return [
        TopicToFetch(found.name, topic.partition_indexes, topic.topic_id)
        for topic in topics
        if (found := by_id.get(topic.topic_id)) is not None
    ]


def _response(
    context: RequestContext,
    groups: Sequence[OffsetFetchRequestGroup],
    answers: Sequence[OffsetFetchResponseGroup | ApiError],
) -> OffsetFetchResponse | bytearray:
    answered = [
        _group(context, group, answer) for group, answer in zip(groups, answers, strict=True)
    ]
    if context.version >= offset_frames.FIRST_VERSION:
        return offset_frames.encode_offset_fetch_response(
            answered, context.version, context.correlation_id
        )
    [only] = answered
    if only.error_code and context.version < _FIRST_WITH_GROUP_ERROR:
        only.topics = [_refused(topic, only.error_code) for topic in groups[0].topics or ()]
    return OffsetFetchResponse(
        error_code=only.error_code,
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name,
                # The two classes differ in name only, and ten thousand of them are not made twice.
                partitions=cast("list[OffsetFetchResponsePartition]", topic.partitions),
            )
            for topic in only.topics
        ],
    )


def _group(
    context: RequestContext,
    group: OffsetFetchRequestGroup,
    answer: OffsetFetchResponseGroup | ApiError,
) -> OffsetFetchResponseGroup:
    if isinstance(answer, ApiError):
        return OffsetFetchResponseGroup(group_id=group.group_id, error_code=answer.code)
    if context.version >= _FIRST_WITH_IDS and not answer.error_code:
        _name_by_id(context, group, answer)
    return answer


def _name_by_id(
    context: RequestContext, group: OffsetFetchRequestGroup, answer: OffsetFetchResponseGroup
) -> None:
    """Add what has no known id; of all topics, leave out those that cannot be named any more."""
    image = context.broker.metadata.image
    if group.topics is not None:
        answer.topics += [
            _refused(topic, ErrorCode.UNKNOWN_TOPIC_ID)
            for topic in group.topics
            if topic.topic_id not in image.topics_by_id
        ]
        return
    for topic in answer.topics:
        found = image.topics.get(topic.name)
        topic.topic_id = ZERO_UUID if found is None else found.topic_id
    answer.topics = [topic for topic in answer.topics if topic.topic_id != ZERO_UUID]


def _refused(topic: OffsetFetchRequestTopics, error: int) -> OffsetFetchResponseTopics:
    return OffsetFetchResponseTopics(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=cast(
            "list[OffsetFetchResponsePartitions]",
            [no_position(index, error) for index in topic.partition_indexes],
        ),
    )

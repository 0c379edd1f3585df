"""OffsetDelete (api 47, v0).

Versions: v0 only (KIP-496).
Differs from Apache Kafka: partitions are answered in the order of the request, not those with errors first.
"""

from __future__ import annotations

from typing import Any

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.broker.context import RequestContext
from ottla.broker.later import ask
from ottla.broker.partition_answers import error_codes, existing
from ottla.broker.reply import Pending
from ottla.cluster.image import TopicImage
from ottla.coordination.groups.offset_requests import delete
from ottla.protocol.apis.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)


def handle(context: RequestContext, request: OffsetDeleteRequest) -> Pending:
    """Forget positions of a group in topics that no member subscribes to."""
    image = context.broker.metadata.image
    topics = [image.topics.get(topic.name) for topic in request.topics]
    wanted = [
        TopicPartition(topic.name, each.partition_index)
        for topic, found in zip(request.topics, topics, strict=True)
        if found is not None
        for each in existing(found, topic.partitions)
    ]
    groups = context.broker.groups
    return ask(
        context,
        lambda token: groups.write(
            request.group_id,
            lambda shard, now_ms: delete(shard, request.group_id, wanted, token, now_ms),
        ),
        lambda answer: _response(request, topics, answer),
    )


def _response(
    request: OffsetDeleteRequest, topics: list[TopicImage | None], answer: Any
) -> OffsetDeleteResponse:
    if isinstance(answer, ApiError):
        return OffsetDeleteResponse(error_code=answer.code)
    named = [(found, topic.partitions) for topic, found in zip(request.topics, topics, strict=True)]
    return OffsetDeleteResponse(
        topics=[
            OffsetDeleteResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetDeleteResponsePartition(
                        partition_index=each.partition_index, error_code=code
                    )
                    for each, code in zip(topic.partitions, codes, strict=True)
                ],
            )
            for topic, codes in zip(request.topics, error_codes(named, answer), strict=True)
        ]
    )

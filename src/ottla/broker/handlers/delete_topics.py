"""DeleteTopics (api 20, v1-v6).

Versions: v3 TOPIC_DELETION_DISABLED · v4 flexible · v5 error messages · v6 topic ids.
Differs from Apache Kafka: the topic is gone when the answer comes; the timeout is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterable

from ottla.base.errors import ApiError, ClusterError
from ottla.broker.context import RequestContext
from ottla.broker.errors import told
from ottla.controller.requests import TopicRef
from ottla.protocol.apis.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from ottla.protocol.errors import ErrorCode

_FIRST_WITH_DELETION_DISABLED = 3
_FIRST_WITH_IDS = 6


async def handle(context: RequestContext, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
    """Delete topics and everything in them."""
    topics = _wanted(context, request)
    try:
        results = await context.broker.controller.delete_topics(topics)
    except (ApiError, ClusterError) as failure:
        return _refused(context, topics, failure)
    return DeleteTopicsResponse(
        responses=[
            DeletableTopicResult(
                name=result.name,
                topic_id=result.topic_id,
                error_code=result.error,
                error_message=result.message,
            )
            for result in results
        ]
    )


def _wanted(context: RequestContext, request: DeleteTopicsRequest) -> list[TopicRef]:
    if context.version < _FIRST_WITH_IDS:
        return [TopicRef(name) for name in request.topic_names]
    return [TopicRef(topic.name, topic.topic_id) for topic in request.topics]


def _refused(
    context: RequestContext, topics: Iterable[TopicRef], failure: ApiError | ClusterError
) -> DeleteTopicsResponse:
    code, message = told(failure)
    if (
        code == ErrorCode.TOPIC_DELETION_DISABLED
        and context.version < _FIRST_WITH_DELETION_DISABLED
    ):
        code = ErrorCode.INVALID_REQUEST
    return DeleteTopicsResponse(
        responses=[
            DeletableTopicResult(
                name=topic.name, topic_id=topic.topic_id, error_code=code, error_message=message
            )
            for topic in dict.fromkeys(topics)
        ]
    )

"""CreateTopics (api 19, v2-v7).

Versions: v4 the broker's defaults for counts (KIP-464) · v5 flexible, the settings of the new topic (KIP-525) ·
v7 topic ids.
Differs from Apache Kafka: the topic can be used when the answer comes; the timeout is not looked at.
"""

from __future__ import annotations

from collections.abc import Sequence

from ottla.base.errors import ApiError, ClusterError
from ottla.broker.context import RequestContext
from ottla.broker.errors import told
from ottla.config.describe import describe_topic
from ottla.config.dynamic import Overlay
from ottla.controller.requests import ManualReplicas, NewTopic, TopicResult
from ottla.protocol.apis.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)


async def handle(context: RequestContext, request: CreateTopicsRequest) -> CreateTopicsResponse:
    """Make topics, or only say whether they could be made."""
    topics = [_wanted(topic) for topic in request.topics]
    try:
        results: Sequence[TopicResult] = await context.broker.controller.create_topics(
            topics, validate_only=request.validate_only
        )
    except (ApiError, ClusterError) as failure:
        code, message = told(failure)
        return CreateTopicsResponse(
            topics=[
                CreatableTopicResult(name=name, error_code=code, error_message=message)
                for name in dict.fromkeys(topic.name for topic in topics)
            ]
        )
    overlay = context.broker.settings.overlay
    return CreateTopicsResponse(topics=[_render(overlay, result) for result in results])


def _wanted(topic: CreatableTopic) -> NewTopic:
    return NewTopic(
        topic.name,
        topic.num_partitions,
        topic.replication_factor,
        [ManualReplicas(a.partition_index, a.broker_ids) for a in topic.assignments],
        {config.name: config.value for config in topic.configs},
    )


def _render(overlay: Overlay, result: TopicResult) -> CreatableTopicResult:
    name = result.name or ""
    if result.error:
        return CreatableTopicResult(
            name=name, error_code=result.error, error_message=result.message
        )
    return CreatableTopicResult(
        name=name,
        topic_id=result.topic_id,
        error_message=None,
        num_partitions=result.partitions,
        replication_factor=result.replication_factor,
        configs=[
            CreatableTopicConfigs(
                name=row.name,
                value=row.value,
                read_only=row.read_only,
                config_source=row.source,
                is_sensitive=row.is_sensitive,
            )
            for row in describe_topic(overlay, result.configs)
        ],
    )

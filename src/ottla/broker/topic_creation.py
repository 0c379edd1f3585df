"""Topics that this broker itself wants: made by the controller, wherever that is, and known here when they are used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ottla.base.errors import ApiError
from ottla.client.errors import ClientError
from ottla.controller.requests import NewTopic, TopicResult
from ottla.protocol.apis.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ottla.broker.context import Broker

_TIMEOUT_MS: Final = 30_000


async def create_topics(broker: Broker, topics: Sequence[NewTopic]) -> Sequence[TopicResult]:
    """Make topics; ApiError or ClusterError if nobody can be asked to now."""
    if broker.controller.is_active:
        return await broker.controller.create_topics(topics)
    try:
        answer: CreateTopicsResponse = await broker.peers.ask_controller(_request(topics))
    except ClientError as failure:
        raise ApiError(ErrorCode.NOT_CONTROLLER, str(failure)) from failure
    # The controller has written it; whoever asks the tree now is told of it, and so are we.
    await broker.metadata.refreshed()
    return [
        TopicResult(
            each.name,
            ErrorCode(each.error_code),
            each.error_message or "",
            topic_id=each.topic_id,
            partitions=each.num_partitions,
        )
        for each in answer.topics
    ]


def _request(topics: Sequence[NewTopic]) -> CreateTopicsRequest:
    wanted = [
        CreatableTopic(
            name=topic.name,
            num_partitions=topic.partitions,
            replication_factor=topic.replication_factor,
            configs=[CreatableTopicConfig(name=n, value=v) for n, v in topic.configs.items()],
        )
        for topic in topics
    ]
    return CreateTopicsRequest(topics=wanted, timeout_ms=_TIMEOUT_MS)

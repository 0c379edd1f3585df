"""FindCoordinator (api 10, v0-v6).

Versions: v1 transactional ids, error message · v3 flexible · v4 several keys (KIP-699) · v6 share groups.
Differs from Apache Kafka: an answer that would name a coordinator whose process has just died waits for the election,
for 300 ms at most. The coordinator's topic can be used when the answer comes; Kafka says COORDINATOR_NOT_AVAILABLE
while it is being made. Share groups have no coordinator.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Final

from ottla.base.errors import ApiError, ClusterError
from ottla.broker import internal_topics
from ottla.broker.context import RequestContext
from ottla.broker.topic_views import nodes
from ottla.cluster.image import NO_LEADER, Image
from ottla.coordination.routing import partition_for
from ottla.protocol.apis.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from ottla.protocol.errors import ErrorCode

_GROUP: Final = 0
_TRANSACTION: Final = 1
_TOPICS: Final = {
    _GROUP: internal_topics.GROUPS_TOPIC,
    _TRANSACTION: internal_topics.TRANSACTIONS_TOPIC,
}
_FIRST_BATCHED: Final = 4


def handle(
    context: RequestContext, request: FindCoordinatorRequest
) -> FindCoordinatorResponse | Coroutine[Any, Any, FindCoordinatorResponse]:
    """Say which broker coordinates each key; the topic behind it is made first, if need be."""
    topic = _TOPICS.get(request.key_type)
    if topic is None:
        return _answer(context, request, topic)
    if internal_topics.exists(context.broker, topic):
        return _answer_when_sure(context, request, topic)
    return _create_and_answer(context, request, topic)


def _answer_when_sure(
    context: RequestContext, request: FindCoordinatorRequest, topic: str
) -> FindCoordinatorResponse | Coroutine[Any, Any, FindCoordinatorResponse]:
    """Answer once the coordinators to be named are known to live (`cluster/leader_waits.py`)."""
    broker = context.broker
    keys = _keys(context, request)
    sure: asyncio.Future[None] = broker.loop.create_future()

    def names_any(brokers: frozenset[int]) -> bool:
        return bool(brokers) and any(
            _leader(broker.metadata.image, topic, key) in brokers for key in keys
        )

    async def answer() -> FindCoordinatorResponse:
        await sure
        return _answer(context, request, topic)

    def release() -> None:
        if not sure.done():
            sure.set_result(None)

    if broker.leader_waits.hold(names_any, release):
        return answer()
    return _answer(context, request, topic)


async def _create_and_answer(
    context: RequestContext, request: FindCoordinatorRequest, topic: str
) -> FindCoordinatorResponse:
    try:
        await internal_topics.ensure(context.broker, topic)
    except (ApiError, ClusterError) as failure:
        refused = ErrorCode.COORDINATOR_NOT_AVAILABLE, str(failure)
        return _render(context, [_none(key, *refused) for key in _keys(context, request)])
    return _answer(context, request, topic)


def _answer(
    context: RequestContext, request: FindCoordinatorRequest, topic: str | None
) -> FindCoordinatorResponse:
    return _render(context, [_find(context, topic, key) for key in _keys(context, request)])


def _keys(context: RequestContext, request: FindCoordinatorRequest) -> list[str]:
    return request.coordinator_keys if context.version >= _FIRST_BATCHED else [request.key]


def _find(context: RequestContext, topic: str | None, key: str) -> Coordinator:
    if topic is None:
        return _none(
            key, ErrorCode.INVALID_REQUEST, "there are coordinators of groups and transactions only"
        )
    if topic == internal_topics.GROUPS_TOPIC:
        number = context.connection.number
        context.broker.groups.tell(
            key, lambda shard, now_ms: shard.arrivals.announced(key, number, now_ms)
        )
    image = context.broker.leader_waits.image()
    leader = _leader(image, topic, key)
    for node in nodes(image, context.connection.listener):
        if node.broker_id == leader:
            return Coordinator(
                key=key, node_id=leader, host=node.host, port=node.port, error_message=None
            )
    return _none(key, ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{topic} has no leader for this key")


def _leader(image: Image, topic: str, key: str) -> int:
    """The leader of the partition that holds a key; -1 where the topic was deleted meanwhile."""
    found = image.topics.get(topic)
    if found is None:
        return NO_LEADER
    return found.partitions[partition_for(key, len(found.partitions))].leader


def _none(key: str, error: int, message: str) -> Coordinator:
    return Coordinator(key=key, node_id=-1, port=-1, error_code=error, error_message=message)


def _render(context: RequestContext, found: list[Coordinator]) -> FindCoordinatorResponse:
    if context.version >= _FIRST_BATCHED:
        return FindCoordinatorResponse(coordinators=found)
    [only] = found
    return FindCoordinatorResponse(
        error_code=only.error_code,
        error_message=only.error_message,
        node_id=only.node_id,
        host=only.host,
        port=only.port,
    )

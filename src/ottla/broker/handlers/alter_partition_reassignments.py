"""AlterPartitionReassignments (api 45, v0-v1).

Versions: v1 may forbid a changed replication factor.
Differs from Apache Kafka: the timeout is not looked at.
"""

from __future__ import annotations

from ottla.broker.context import RequestContext
from ottla.controller.reassignment import Move, MoveResult
from ottla.protocol.apis.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)


async def handle(
    context: RequestContext, request: AlterPartitionReassignmentsRequest
) -> AlterPartitionReassignmentsResponse:
    """Begin to move partitions to other brokers, or cancel that."""
    moves = [
        Move(
            topic.name,
            each.partition_index,
            None if each.replicas is None else tuple(each.replicas),
        )
        for topic in request.topics
        for each in topic.partitions
    ]
    results = await context.broker.elections.move(
        moves, may_change_factor=request.allow_replication_factor_change
    )
    topics: dict[str, list[ReassignablePartitionResponse]] = {}
    for result in results:
        topics.setdefault(result.topic, []).append(_render(result))
    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        error_message=None,
        responses=[
            ReassignableTopicResponse(name=name, partitions=partitions)
            for name, partitions in topics.items()
        ],
    )


def _render(result: MoveResult) -> ReassignablePartitionResponse:
    return ReassignablePartitionResponse(
        partition_index=result.partition, error_code=result.error, error_message=result.message
    )

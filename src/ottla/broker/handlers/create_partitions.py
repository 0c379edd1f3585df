"""CreatePartitions (api 37, v0-v3).

Versions: v2 flexible · v3 throttling errors.
Differs from Apache Kafka: an empty list of assignments means that none are given, as a null one does.
"""

from __future__ import annotations

from collections.abc import Sequence

from ottla.base.errors import ApiError, ClusterError
from ottla.broker.context import RequestContext
from ottla.broker.errors import told
from ottla.controller.requests import NewPartitions, TopicResult
from ottla.protocol.apis.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)


async def handle(
    context: RequestContext, request: CreatePartitionsRequest
) -> CreatePartitionsResponse:
    """Give topics more partitions, or only say whether they could have them."""
    try:
        results: Sequence[TopicResult] = await context.broker.controller.create_partitions(
            [_wanted(topic) for topic in request.topics], validate_only=request.validate_only
        )
    except (ApiError, ClusterError) as failure:
        code, message = told(failure)
        return CreatePartitionsResponse(
            results=[
                CreatePartitionsTopicResult(name=name, error_code=code, error_message=message)
                for name in dict.fromkeys(topic.name for topic in request.topics)
            ]
        )
    return CreatePartitionsResponse(
        results=[
            CreatePartitionsTopicResult(
                name=result.name or "", error_code=result.error, error_message=result.message
            )
            for result in results
        ]
    )


def _wanted(topic: CreatePartitionsTopic) -> NewPartitions:
    assignments = [assignment.broker_ids for assignment in topic.assignments or ()]
    return NewPartitions(topic.name, topic.count, assignments or None)

"""DeleteRecords (api 21, v0-v2).

Versions: v2 flexible.
Differs from Apache Kafka: none known.
"""

from __future__ import annotations

from ottla.base.errors import ApiError, StorageError
from ottla.broker.context import RequestContext
from ottla.broker.topic_views import INTERNAL_TOPICS
from ottla.protocol.apis.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from ottla.protocol.errors import ErrorCode
from ottla.replication.partition import error_code_of

_NO_LOW_WATERMARK = -1


def handle(context: RequestContext, request: DeleteRecordsRequest) -> DeleteRecordsResponse:
    """Move the start of partitions up, and answer where they start now."""
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=topic.name,
                partitions=[_delete(context, topic.name, wanted) for wanted in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _delete(
    context: RequestContext, topic: str, wanted: DeleteRecordsPartition
) -> DeleteRecordsPartitionResult:
    try:
        if topic in INTERNAL_TOPICS:
            raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{topic} is the broker's own")
        partition = context.broker.partitions.leader(topic, wanted.partition_index)
        if "delete" not in partition.log.config.cleanup_policy:
            raise ApiError(
                ErrorCode.POLICY_VIOLATION, f"the cleanup.policy of {topic} lacks delete"
            )
        low_watermark = partition.advance_start_offset(wanted.offset)
    except (ApiError, StorageError) as failure:
        return DeleteRecordsPartitionResult(
            partition_index=wanted.partition_index,
            low_watermark=_NO_LOW_WATERMARK,
            error_code=error_code_of(failure),
        )
    return DeleteRecordsPartitionResult(
        partition_index=wanted.partition_index, low_watermark=low_watermark
    )

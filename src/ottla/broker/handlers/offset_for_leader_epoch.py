"""OffsetForLeaderEpoch (api 23, v2-v4).

Versions: v3 replica id · v4 flexible.
Differs from Apache Kafka: none known.
"""

from __future__ import annotations

from ottla.base.errors import ApiError, StorageError
from ottla.broker.context import RequestContext
from ottla.protocol.apis.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)
from ottla.replication.partition import error_code_of


def handle(
    context: RequestContext, request: OffsetForLeaderEpochRequest
) -> OffsetForLeaderEpochResponse:
    """Say where the records of a leader epoch end, so that a client notices what was truncated."""
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[_end_of(context, topic.topic, wanted) for wanted in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _end_of(
    context: RequestContext, topic: str, wanted: OffsetForLeaderPartition
) -> EpochEndOffset:
    try:
        partition = context.broker.partitions.leader(topic, wanted.partition)
        partition.check_leader_epoch(wanted.current_leader_epoch)
        epoch, end_offset = partition.log.end_offset_for_epoch(wanted.leader_epoch)
    except (ApiError, StorageError) as failure:
        return EpochEndOffset(partition=wanted.partition, error_code=error_code_of(failure))
    return EpochEndOffset(partition=wanted.partition, leader_epoch=epoch, end_offset=end_offset)

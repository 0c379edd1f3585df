"""DescribeProducers (api 61, v0).

Versions: v0 only (KIP-664).
Differs from Apache Kafka: last_timestamp is the broker's clock at the producer's last append, not the producer's.
"""

from __future__ import annotations

from ottla.base.errors import ApiError, StorageError
from ottla.broker.context import RequestContext
from ottla.controller.names import why_invalid
from ottla.protocol.apis.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from ottla.protocol.errors import ErrorCode
from ottla.replication.partition import error_code_of
from ottla.storage.producer_state import ProducerEntry


def handle(context: RequestContext, request: DescribeProducersRequest) -> DescribeProducersResponse:
    """List the idempotent producers that partitions remember."""
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=topic.name,
                partitions=[
                    _describe(context, topic.name, index) for index in topic.partition_indexes
                ],
            )
            for topic in request.topics
        ]
    )


def _describe(context: RequestContext, topic: str, index: int) -> PartitionResponse:
    why = why_invalid(topic)
    if why is not None:
        return PartitionResponse(
            partition_index=index,
            error_code=ErrorCode.INVALID_TOPIC_EXCEPTION,
            error_message=why,
        )
    try:
        producers = context.broker.partitions.leader(topic, index).log.producers
    except (ApiError, StorageError) as failure:
        return PartitionResponse(
            partition_index=index, error_code=error_code_of(failure), error_message=str(failure)
        )
    return PartitionResponse(
        partition_index=index, active_producers=[_render(entry) for entry in producers.entries()]
    )


def _render(entry: ProducerEntry) -> ProducerState:
    return ProducerState(
        producer_id=entry.producer_id,
        producer_epoch=entry.epoch,
        last_sequence=entry.last_sequence,
        last_timestamp=entry.timestamp,
        coordinator_epoch=entry.coordinator_epoch,
        current_txn_start_offset=entry.txn_first_offset,
    )

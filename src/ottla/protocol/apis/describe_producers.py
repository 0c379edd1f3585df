"""Pure: DescribeProducers (api 61): the producers that partitions know of (KIP-664).

Versions: v0 only.
"""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import Request, Response, Struct, array, int16, int32, int64, string


class TopicRequest(Struct):
    """An element of DescribeProducersRequest.topics."""

    name: str = string()
    partition_indexes: list[int] = array(int32)


class DescribeProducersRequest(Request, key=ApiKey.DESCRIBE_PRODUCERS):
    """The partitions."""

    topics: list[TopicRequest] = array(TopicRequest)


class ProducerState(Struct):
    """An element of DescribeProducersResponse.topics.partitions.active_producers."""

    producer_id: int = int64()
    producer_epoch: int = int32()
    last_sequence: int = int32(-1)
    last_timestamp: int = int64(-1)
    coordinator_epoch: int = int32()
    current_txn_start_offset: int = int64(-1)


class PartitionResponse(Struct):
    """An element of DescribeProducersResponse.topics.partitions."""

    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = string(None, nullable=True)
    active_producers: list[ProducerState] = array(ProducerState)


class TopicResponse(Struct):
    """An element of DescribeProducersResponse.topics."""

    name: str = string()
    partitions: list[PartitionResponse] = array(PartitionResponse)


class DescribeProducersResponse(Response, key=ApiKey.DESCRIBE_PRODUCERS):
    """The producers of each partition."""

    throttle_time_ms: int = int32()
    topics: list[TopicResponse] = array(TopicResponse)

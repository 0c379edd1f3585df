"""Pure: DescribeTopicPartitions (api 75): topics and partitions page by page (KIP-966).

Versions: v0 only.
"""

from __future__ import annotations

from uuid import UUID

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int16,
    int32,
    nested,
    string,
    uuid,
)


class TopicRequest(Struct):
    """An element of DescribeTopicPartitionsRequest.topics."""

    name: str = string()


class Cursor(Struct):
    """The type of DescribeTopicPartitionsRequest.cursor."""

    topic_name: str = string()
    partition_index: int = int32()


class DescribeTopicPartitionsRequest(Request, key=ApiKey.DESCRIBE_TOPIC_PARTITIONS):
    """The topics, and where to go on."""

    topics: list[TopicRequest] = array(TopicRequest)
    response_partition_limit: int = int32(2000)
    cursor: Cursor | None = nested(Cursor, None, nullable=True)


class DescribeTopicPartitionsResponsePartition(Struct):
    """An element of DescribeTopicPartitionsResponse.topics.partitions."""

    error_code: int = int16()
    partition_index: int = int32()
    leader_id: int = int32()
    leader_epoch: int = int32(-1)
    replica_nodes: list[int] = array(int32)
    isr_nodes: list[int] = array(int32)
    eligible_leader_replicas: list[int] | None = array(int32, None, nullable=True)
    last_known_elr: list[int] | None = array(int32, None, nullable=True)
    offline_replicas: list[int] = array(int32)


class DescribeTopicPartitionsResponseTopic(Struct):
    """An element of DescribeTopicPartitionsResponse.topics."""

    error_code: int = int16()
    name: str | None = string(nullable=True)
    topic_id: UUID = uuid()
    is_internal: bool = boolean()
    partitions: list[DescribeTopicPartitionsResponsePartition] = array(
        DescribeTopicPartitionsResponsePartition
    )
    topic_authorized_operations: int = int32(-(2**31))


class DescribeTopicPartitionsResponse(Response, key=ApiKey.DESCRIBE_TOPIC_PARTITIONS):
    """A page of topics, and where to go on."""

    throttle_time_ms: int = int32()
    topics: list[DescribeTopicPartitionsResponseTopic] = array(DescribeTopicPartitionsResponseTopic)
    next_cursor: Cursor | None = nested(Cursor, None, nullable=True)

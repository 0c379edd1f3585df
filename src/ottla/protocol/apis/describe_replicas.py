"""Pure: DescribeReplicas (api 10101, ottla's own): how far the replicas of partitions are that nobody leads.

Versions: v0.
"""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int16,
    int32,
    int64,
    string,
)


class AskedTopic(Struct):
    """An element of DescribeReplicasRequest.topics."""

    name: str = string()
    partitions: list[int] = array(int32)


class DescribeReplicasRequest(Request, key=ApiKey.DESCRIBE_REPLICAS):
    """The partitions; null: all that have no leader."""

    topics: list[AskedTopic] | None = array(AskedTopic, None, nullable=True)


class DescribedReplica(Struct):
    """A replica; an end offset of -1 if nobody could say it, 0 as the time of one that never registered."""

    broker_id: int = int32()
    is_registered: bool = boolean()
    last_epoch: int = int32(-1)
    end_offset: int = int64(-1)
    registered_ms: int = int64()


class DescribedPartition(Struct):
    """An element of DescribeReplicasResponse.topics.partitions."""

    partition: int = int32()
    replicas: list[DescribedReplica] = array(DescribedReplica)


class DescribedTopic(Struct):
    """An element of DescribeReplicasResponse.topics."""

    name: str = string()
    partitions: list[DescribedPartition] = array(DescribedPartition)


class DescribeReplicasResponse(Response, key=ApiKey.DESCRIBE_REPLICAS):
    """The partitions that are known."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(None, nullable=True)
    topics: list[DescribedTopic] = array(DescribedTopic)

"""Pure: ListOffsets (api 2): find offsets by time.

Versions: v2 isolation level · v4 leader epoch · v6 flexible · v7 max timestamp · v8 earliest local
· v9 latest tiered · v10 time-out · v11 earliest pending upload. Timestamps: -1 latest, -2 earliest,
-3 of the largest timestamp.
"""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    int8,
    int16,
    int32,
    int64,
    string,
)


class ListOffsetsPartition(Struct):
    """An element of ListOffsetsRequest.topics.partitions."""

    partition_index: int = int32()
    current_leader_epoch: int = int32(-1, since=4)
    timestamp: int = int64()


class ListOffsetsTopic(Struct):
    """An element of ListOffsetsRequest.topics."""

    name: str = string()
    partitions: list[ListOffsetsPartition] = array(ListOffsetsPartition)


class ListOffsetsRequest(Request, key=ApiKey.LIST_OFFSETS):
    """A timestamp for each partition."""

    replica_id: int = int32()
    isolation_level: int = int8(since=2)
    topics: list[ListOffsetsTopic] = array(ListOffsetsTopic)
    timeout_ms: int = int32(since=10)


class ListOffsetsPartitionResponse(Struct):
    """An element of ListOffsetsResponse.topics.partitions."""

    partition_index: int = int32()
    error_code: int = int16()
    timestamp: int = int64(-1)
    offset: int = int64(-1)
    leader_epoch: int = int32(-1, since=4)


class ListOffsetsTopicResponse(Struct):
    """An element of ListOffsetsResponse.topics."""

    name: str = string()
    partitions: list[ListOffsetsPartitionResponse] = array(ListOffsetsPartitionResponse)


class ListOffsetsResponse(Response, key=ApiKey.LIST_OFFSETS):
    """The first offset at or after the timestamp, for each partition."""

    throttle_time_ms: int = int32(since=2)
    topics: list[ListOffsetsTopicResponse] = array(ListOffsetsTopicResponse)

"""Pure: OffsetForLeaderEpoch (api 23): where leader epochs ended (KIP-320).

Versions: v3 replica id · v4 flexible.
"""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import Request, Response, Struct, array, int16, int32, int64, string


class OffsetForLeaderPartition(Struct):
    """An element of OffsetForLeaderEpochRequest.topics.partitions."""

    partition: int = int32()
    current_leader_epoch: int = int32(-1)
    leader_epoch: int = int32()


class OffsetForLeaderTopic(Struct):
    """An element of OffsetForLeaderEpochRequest.topics."""

    topic: str = string()
    partitions: list[OffsetForLeaderPartition] = array(OffsetForLeaderPartition)


class OffsetForLeaderEpochRequest(Request, key=ApiKey.OFFSET_FOR_LEADER_EPOCH):
    """The epochs to look up."""

    replica_id: int = int32(-2, since=3)
    topics: list[OffsetForLeaderTopic] = array(OffsetForLeaderTopic)


class EpochEndOffset(Struct):
    """An element of OffsetForLeaderEpochResponse.topics.partitions."""

    error_code: int = int16()
    partition: int = int32()
    leader_epoch: int = int32(-1)
    end_offset: int = int64(-1)


class OffsetForLeaderTopicResult(Struct):
    """An element of OffsetForLeaderEpochResponse.topics."""

    topic: str = string()
    partitions: list[EpochEndOffset] = array(EpochEndOffset)


class OffsetForLeaderEpochResponse(Response, key=ApiKey.OFFSET_FOR_LEADER_EPOCH):
    """The end offset of each epoch."""

    throttle_time_ms: int = int32()
    topics: list[OffsetForLeaderTopicResult] = array(OffsetForLeaderTopicResult)

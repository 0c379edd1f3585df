"""Pure: OffsetCommit (api 8): store the positions of a group.

Versions: v6 leader epoch · v7 static members (KIP-345) · v8 flexible · v9 member epoch (KIP-848) ·
v10 topic ids.
"""

from __future__ import annotations

from uuid import UUID

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    int16,
    int32,
    int64,
    string,
    uuid,
)


class OffsetCommitRequestPartition(Struct):
    """An element of OffsetCommitRequest.topics.partitions."""

    partition_index: int = int32()
    committed_offset: int = int64()
    committed_leader_epoch: int = int32(-1, since=6)
    committed_metadata: str | None = string(nullable=True)


class OffsetCommitRequestTopic(Struct):
    """An element of OffsetCommitRequest.topics."""

    name: str = string(until=9)
    topic_id: UUID = uuid(since=10)
    partitions: list[OffsetCommitRequestPartition] = array(OffsetCommitRequestPartition)


class OffsetCommitRequest(Request, key=ApiKey.OFFSET_COMMIT):
    """The offsets to store."""

    group_id: str = string()
    generation_id_or_member_epoch: int = int32(-1)
    member_id: str = string()
    group_instance_id: str | None = string(None, since=7, nullable=True)
    retention_time_ms: int = int64(-1, until=4)
    topics: list[OffsetCommitRequestTopic] = array(OffsetCommitRequestTopic)


class OffsetCommitResponsePartition(Struct):
    """An element of OffsetCommitResponse.topics.partitions."""

    partition_index: int = int32()
    error_code: int = int16()


class OffsetCommitResponseTopic(Struct):
    """An element of OffsetCommitResponse.topics."""

    name: str = string(until=9)
    topic_id: UUID = uuid(since=10)
    partitions: list[OffsetCommitResponsePartition] = array(OffsetCommitResponsePartition)


class OffsetCommitResponse(Response, key=ApiKey.OFFSET_COMMIT):
    """Whether each offset was stored."""

    throttle_time_ms: int = int32(since=3)
    topics: list[OffsetCommitResponseTopic] = array(OffsetCommitResponseTopic)

"""Pure: TxnOffsetCommit (api 28): store the positions of a group when a transaction commits.

Versions: v2 leader epoch · v3 flexible, member and generation (KIP-447) · v5 offsets join the
transaction implicitly (KIP-890).
"""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import Request, Response, Struct, array, int16, int32, int64, string


class TxnOffsetCommitRequestPartition(Struct):
    """An element of TxnOffsetCommitRequest.topics.partitions."""

    partition_index: int = int32()
    committed_offset: int = int64()
    committed_leader_epoch: int = int32(-1, since=2)
    committed_metadata: str | None = string(nullable=True)


class TxnOffsetCommitRequestTopic(Struct):
    """An element of TxnOffsetCommitRequest.topics."""

    name: str = string()
    partitions: list[TxnOffsetCommitRequestPartition] = array(TxnOffsetCommitRequestPartition)


class TxnOffsetCommitRequest(Request, key=ApiKey.TXN_OFFSET_COMMIT):
    """The offsets to store."""

    transactional_id: str = string()
    group_id: str = string()
    producer_id: int = int64()
    producer_epoch: int = int16()
    generation_id: int = int32(-1, since=3)
    member_id: str = string(since=3)
    group_instance_id: str | None = string(None, since=3, nullable=True)
    topics: list[TxnOffsetCommitRequestTopic] = array(TxnOffsetCommitRequestTopic)


class TxnOffsetCommitResponsePartition(Struct):
    """An element of TxnOffsetCommitResponse.topics.partitions."""

    partition_index: int = int32()
    error_code: int = int16()


class TxnOffsetCommitResponseTopic(Struct):
    """An element of TxnOffsetCommitResponse.topics."""

    name: str = string()
    partitions: list[TxnOffsetCommitResponsePartition] = array(TxnOffsetCommitResponsePartition)


class TxnOffsetCommitResponse(Response, key=ApiKey.TXN_OFFSET_COMMIT):
    """Whether each offset was taken."""

    throttle_time_ms: int = int32()
    topics: list[TxnOffsetCommitResponseTopic] = array(TxnOffsetCommitResponseTopic)

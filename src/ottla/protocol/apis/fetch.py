"""Pure: Fetch (api 1): read record batches from partitions, as a consumer or a follower.

Versions: v7 sessions (KIP-227) · v9 leader epoch · v11 rack (KIP-392) · v12 flexible, diverging
epoch · v13 topic ids · v15 replica state · v16 node endpoints · v17 directory id · v18 high
watermark of the follower.
"""

from __future__ import annotations

from uuid import UUID

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import (
    Records,
    Request,
    Response,
    Struct,
    array,
    int8,
    int16,
    int32,
    int64,
    nested,
    records,
    string,
    uuid,
)


class ReplicaState(Struct):
    """The type of FetchRequest.replica_state."""

    replica_id: int = int32(-1)
    replica_epoch: int = int64(-1)


class FetchPartition(Struct):
    """An element of FetchRequest.topics.partitions."""

    partition: int = int32()
    current_leader_epoch: int = int32(-1, since=9)
    fetch_offset: int = int64()
    last_fetched_epoch: int = int32(-1, since=12)
    log_start_offset: int = int64(-1, since=5)
    partition_max_bytes: int = int32()
    replica_directory_id: UUID = uuid(since=17, tag=0)
    high_watermark: int = int64(2**63 - 1, since=18, tag=1)


class FetchTopic(Struct):
    """An element of FetchRequest.topics."""

    topic: str = string(until=12)
    topic_id: UUID = uuid(since=13)
    partitions: list[FetchPartition] = array(FetchPartition)


class ForgottenTopic(Struct):
    """An element of FetchRequest.forgotten_topics_data."""

    topic: str = string(until=12)
    topic_id: UUID = uuid(since=13)
    partitions: list[int] = array(int32)


class FetchRequest(Request, key=ApiKey.FETCH):
    """From which offset of which partitions to read, and how long to wait for how much."""

    cluster_id: str | None = string(None, since=12, nullable=True, tag=0)
    replica_id: int = int32(-1, until=14)
    replica_state: ReplicaState | None = nested(ReplicaState, since=15, tag=1)
    max_wait_ms: int = int32()
    min_bytes: int = int32()
    max_bytes: int = int32(2**31 - 1)
    isolation_level: int = int8()
    session_id: int = int32(since=7)
    session_epoch: int = int32(-1, since=7)
    topics: list[FetchTopic] = array(FetchTopic)
    forgotten_topics_data: list[ForgottenTopic] = array(ForgottenTopic, since=7)
    rack_id: str = string(since=11)


class EpochEndOffset(Struct):
    """The type of FetchResponse.responses.partitions.diverging_epoch."""

    epoch: int = int32(-1)
    end_offset: int = int64(-1)


class LeaderIdAndEpoch(Struct):
    """The type of FetchResponse.responses.partitions.current_leader."""

    leader_id: int = int32(-1)
    leader_epoch: int = int32(-1)


class SnapshotId(Struct):
    """The type of FetchResponse.responses.partitions.snapshot_id."""

    end_offset: int = int64(-1)
    epoch: int = int32(-1)


class AbortedTransaction(Struct):
    """An element of FetchResponse.responses.partitions.aborted_transactions."""

    producer_id: int = int64()
    first_offset: int = int64()


class PartitionData(Struct):
    """An element of FetchResponse.responses.partitions."""

    partition_index: int = int32()
    error_code: int = int16()
    high_watermark: int = int64()
    last_stable_offset: int = int64(-1)
    log_start_offset: int = int64(-1, since=5)
    diverging_epoch: EpochEndOffset | None = nested(EpochEndOffset, since=12, tag=0)
    current_leader: LeaderIdAndEpoch | None = nested(LeaderIdAndEpoch, since=12, tag=1)
    snapshot_id: SnapshotId | None = nested(SnapshotId, since=12, tag=2)
    aborted_transactions: list[AbortedTransaction] | None = array(AbortedTransaction, nullable=True)
    preferred_read_replica: int = int32(-1, since=11)
    records: Records | None = records()


class FetchableTopicResponse(Struct):
    """An element of FetchResponse.responses."""

    topic: str = string(until=12)
    topic_id: UUID = uuid(since=13)
    partitions: list[PartitionData] = array(PartitionData)


class NodeEndpoint(Struct):
    """An element of FetchResponse.node_endpoints."""

    node_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = string(None, nullable=True)


class FetchResponse(Response, key=ApiKey.FETCH):
    """Whole record batches, and the offsets that bound what may be read."""

    throttle_time_ms: int = int32()
    error_code: int = int16(since=7)
    session_id: int = int32(since=7)
    responses: list[FetchableTopicResponse] = array(FetchableTopicResponse)
    node_endpoints: list[NodeEndpoint] = array(NodeEndpoint, since=16, tag=0)

"""Pure: Produce (api 0): append record batches to partitions.

Versions: v7 zstd · v8 record errors · v9 flexible · v10 current leader (KIP-951) · v12 partitions
join the transaction implicitly (KIP-890) · v13 topic ids.
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
    int16,
    int32,
    int64,
    nested,
    records,
    string,
    uuid,
)


class PartitionProduceData(Struct):
    """An element of ProduceRequest.topic_data.partition_data."""

    index: int = int32()
    records: Records | None = records()


class TopicProduceData(Struct):
    """An element of ProduceRequest.topic_data."""

    name: str = string(until=12)
    topic_id: UUID = uuid(since=13)
    partition_data: list[PartitionProduceData] = array(PartitionProduceData)


class ProduceRequest(Request, key=ApiKey.PRODUCE):
    """Record batches for partitions, one batch each."""

    transactional_id: str | None = string(None, nullable=True)
    acks: int = int16()
    timeout_ms: int = int32()
    topic_data: list[TopicProduceData] = array(TopicProduceData)


class BatchIndexAndErrorMessage(Struct):
    """An element of ProduceResponse.responses.partition_responses.record_errors."""

    batch_index: int = int32()
    batch_index_error_message: str | None = string(None, nullable=True)


class LeaderIdAndEpoch(Struct):
    """The type of ProduceResponse.responses.partition_responses.current_leader."""

    leader_id: int = int32(-1)
    leader_epoch: int = int32(-1)


class PartitionProduceResponse(Struct):
    """An element of ProduceResponse.responses.partition_responses."""

    index: int = int32()
    error_code: int = int16()
    base_offset: int = int64()
    log_append_time_ms: int = int64(-1)
    log_start_offset: int = int64(-1, since=5)
    record_errors: list[BatchIndexAndErrorMessage] = array(BatchIndexAndErrorMessage, since=8)
    error_message: str | None = string(None, since=8, nullable=True)
    current_leader: LeaderIdAndEpoch | None = nested(LeaderIdAndEpoch, since=10, tag=0)


class TopicProduceResponse(Struct):
    """An element of ProduceResponse.responses."""

    name: str = string(until=12)
    topic_id: UUID = uuid(since=13)
    partition_responses: list[PartitionProduceResponse] = array(PartitionProduceResponse)


class NodeEndpoint(Struct):
    """An element of ProduceResponse.node_endpoints."""

    node_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = string(None, nullable=True)


class ProduceResponse(Response, key=ApiKey.PRODUCE):
    """Where the batches were appended, or why not."""

    responses: list[TopicProduceResponse] = array(TopicProduceResponse)
    throttle_time_ms: int = int32()
    node_endpoints: list[NodeEndpoint] = array(NodeEndpoint, since=10, tag=0)

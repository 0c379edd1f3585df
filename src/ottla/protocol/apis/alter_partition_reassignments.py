"""Pure: AlterPartitionReassignments (api 45): move partitions to other replicas (KIP-455).

Versions: v1 may forbid a changed replication factor.
"""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import Request, Response, Struct, array, boolean, int16, int32, string


class ReassignablePartition(Struct):
    """An element of AlterPartitionReassignmentsRequest.topics.partitions."""

    partition_index: int = int32()
    replicas: list[int] | None = array(int32, None, nullable=True)


class ReassignableTopic(Struct):
    """An element of AlterPartitionReassignmentsRequest.topics."""

    name: str = string()
    partitions: list[ReassignablePartition] = array(ReassignablePartition)


class AlterPartitionReassignmentsRequest(Request, key=ApiKey.ALTER_PARTITION_REASSIGNMENTS):
    """The new replicas of each partition: null cancels."""

    timeout_ms: int = int32(60000)
    allow_replication_factor_change: bool = boolean(True, since=1)
    topics: list[ReassignableTopic] = array(ReassignableTopic)


class ReassignablePartitionResponse(Struct):
    """An element of AlterPartitionReassignmentsResponse.responses.partitions."""

    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True)


class ReassignableTopicResponse(Struct):
    """An element of AlterPartitionReassignmentsResponse.responses."""

    name: str = string()
    partitions: list[ReassignablePartitionResponse] = array(ReassignablePartitionResponse)


class AlterPartitionReassignmentsResponse(Response, key=ApiKey.ALTER_PARTITION_REASSIGNMENTS):
    """Whether each reassignment began."""

    throttle_time_ms: int = int32()
    allow_replication_factor_change: bool = boolean(True, since=1)
    error_code: int = int16()
    error_message: str | None = string(nullable=True)
    responses: list[ReassignableTopicResponse] = array(ReassignableTopicResponse)

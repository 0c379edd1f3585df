"""Pure: ElectLeaders (api 43): elect leaders of partitions.

Versions: v1 unclean elections (KIP-460) · v2 flexible.
"""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import Request, Response, Struct, array, int8, int16, int32, string


class TopicPartitions(Struct):
    """An element of ElectLeadersRequest.topic_partitions."""

    topic: str = string()
    partitions: list[int] = array(int32)


class ElectLeadersRequest(Request, key=ApiKey.ELECT_LEADERS):
    """The partitions: null for all."""

    election_type: int = int8(since=1)
    topic_partitions: list[TopicPartitions] | None = array(TopicPartitions, nullable=True)
    timeout_ms: int = int32(60000)


class PartitionResult(Struct):
    """An element of ElectLeadersResponse.replica_election_results.partition_result."""

    partition_id: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True)


class ReplicaElectionResult(Struct):
    """An element of ElectLeadersResponse.replica_election_results."""

    topic: str = string()
    partition_result: list[PartitionResult] = array(PartitionResult)


class ElectLeadersResponse(Response, key=ApiKey.ELECT_LEADERS):
    """The outcome for each partition."""

    throttle_time_ms: int = int32()
    error_code: int = int16(since=1)
    replica_election_results: list[ReplicaElectionResult] = array(ReplicaElectionResult)

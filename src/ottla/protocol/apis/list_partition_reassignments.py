"""Pure: ListPartitionReassignments (api 46): the reassignments under way (KIP-455).

Versions: v0 only.
"""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import Request, Response, Struct, array, int16, int32, string


class ListPartitionReassignmentsTopics(Struct):
    """An element of ListPartitionReassignmentsRequest.topics."""

    name: str = string()
    partition_indexes: list[int] = array(int32)


class ListPartitionReassignmentsRequest(Request, key=ApiKey.LIST_PARTITION_REASSIGNMENTS):
    """The partitions: null for all."""

    timeout_ms: int = int32(60000)
    topics: list[ListPartitionReassignmentsTopics] | None = array(
        ListPartitionReassignmentsTopics, None, nullable=True
    )


class OngoingPartitionReassignment(Struct):
    """An element of ListPartitionReassignmentsResponse.topics.partitions."""

    partition_index: int = int32()
    replicas: list[int] = array(int32)
    adding_replicas: list[int] = array(int32)
    removing_replicas: list[int] = array(int32)


class OngoingTopicReassignment(Struct):
    """An element of ListPartitionReassignmentsResponse.topics."""

    name: str = string()
    partitions: list[OngoingPartitionReassignment] = array(OngoingPartitionReassignment)


class ListPartitionReassignmentsResponse(Response, key=ApiKey.LIST_PARTITION_REASSIGNMENTS):
    """The reassignments."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True)
    topics: list[OngoingTopicReassignment] = array(OngoingTopicReassignment)

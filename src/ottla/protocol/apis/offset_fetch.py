"""Pure: OffsetFetch (api 9): read the stored positions of groups.

Versions: v2 all topics by null · v6 flexible · v7 stable offsets only · v8 several groups · v9
member epoch (KIP-848) · v10 topic ids.
"""

from __future__ import annotations

from uuid import UUID

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
    uuid,
)


class OffsetFetchRequestTopic(Struct):
    """An element of OffsetFetchRequest.topics."""

    name: str = string()
    partition_indexes: list[int] = array(int32)


class OffsetFetchRequestTopics(Struct):
    """An element of OffsetFetchRequest.groups.topics."""

    name: str = string(until=9)
    topic_id: UUID = uuid(since=10)
    partition_indexes: list[int] = array(int32)


class OffsetFetchRequestGroup(Struct):
    """An element of OffsetFetchRequest.groups."""

    group_id: str = string()
    member_id: str | None = string(None, since=9, nullable=True)
    member_epoch: int = int32(-1, since=9)
    topics: list[OffsetFetchRequestTopics] | None = array(OffsetFetchRequestTopics, nullable=True)


class OffsetFetchRequest(Request, key=ApiKey.OFFSET_FETCH):
    """For which partitions of which groups; up to v7 one group."""

    group_id: str = string(until=7)
    topics: list[OffsetFetchRequestTopic] | None = array(
        OffsetFetchRequestTopic, until=7, nullable_since=2
    )
    groups: list[OffsetFetchRequestGroup] = array(OffsetFetchRequestGroup, since=8)
    require_stable: bool = boolean(since=7)


class OffsetFetchResponsePartition(Struct):
    """An element of OffsetFetchResponse.topics.partitions."""

    partition_index: int = int32()
    committed_offset: int = int64()
    committed_leader_epoch: int = int32(-1, since=5)
    metadata: str | None = string(nullable=True)
    error_code: int = int16()


class OffsetFetchResponseTopic(Struct):
    """An element of OffsetFetchResponse.topics."""

    name: str = string()
    partitions: list[OffsetFetchResponsePartition] = array(OffsetFetchResponsePartition)


class OffsetFetchResponsePartitions(Struct):
    """An element of OffsetFetchResponse.groups.topics.partitions."""

    partition_index: int = int32()
    committed_offset: int = int64()
    committed_leader_epoch: int = int32(-1)
    metadata: str | None = string(nullable=True)
    error_code: int = int16()


class OffsetFetchResponseTopics(Struct):
    """An element of OffsetFetchResponse.groups.topics."""

    name: str = string(until=9)
    topic_id: UUID = uuid(since=10)
    partitions: list[OffsetFetchResponsePartitions] = array(OffsetFetchResponsePartitions)


class OffsetFetchResponseGroup(Struct):
    """An element of OffsetFetchResponse.groups."""

    group_id: str = string()
    topics: list[OffsetFetchResponseTopics] = array(OffsetFetchResponseTopics)
    error_code: int = int16()


class OffsetFetchResponse(Response, key=ApiKey.OFFSET_FETCH):
    """The stored offsets."""

    throttle_time_ms: int = int32(since=3)
    topics: list[OffsetFetchResponseTopic] = array(OffsetFetchResponseTopic, until=7)
    error_code: int = int16(since=2, until=7)
    groups: list[OffsetFetchResponseGroup] = array(OffsetFetchResponseGroup, since=8)

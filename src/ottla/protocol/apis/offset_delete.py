"""Pure: OffsetDelete (api 47): delete stored positions of a group (KIP-496); never flexible.

Versions: v0 only.
"""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import Request, Response, Struct, array, int16, int32, string


class OffsetDeleteRequestPartition(Struct):
    """An element of OffsetDeleteRequest.topics.partitions."""

    partition_index: int = int32()


class OffsetDeleteRequestTopic(Struct):
    """An element of OffsetDeleteRequest.topics."""

    name: str = string()
    partitions: list[OffsetDeleteRequestPartition] = array(OffsetDeleteRequestPartition)


class OffsetDeleteRequest(Request, key=ApiKey.OFFSET_DELETE):
    """The partitions to forget."""

    group_id: str = string()
    topics: list[OffsetDeleteRequestTopic] = array(OffsetDeleteRequestTopic)


class OffsetDeleteResponsePartition(Struct):
    """An element of OffsetDeleteResponse.topics.partitions."""

    partition_index: int = int32()
    error_code: int = int16()


class OffsetDeleteResponseTopic(Struct):
    """An element of OffsetDeleteResponse.topics."""

    name: str = string()
    partitions: list[OffsetDeleteResponsePartition] = array(OffsetDeleteResponsePartition)


class OffsetDeleteResponse(Response, key=ApiKey.OFFSET_DELETE):
    """Whether each was forgotten."""

    error_code: int = int16()
    throttle_time_ms: int = int32()
    topics: list[OffsetDeleteResponseTopic] = array(OffsetDeleteResponseTopic)

"""Pure: ReplicaEnds (api 10002, ottla's own): how far the replicas on a broker are.

The controller asks when no replica in sync stopped cleanly: the one that is furthest leads.
"""

from __future__ import annotations

from uuid import UUID

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import Request, Response, Struct, array, int16, int32, int64, uuid


class TopicPartitions(Struct):
    """An element of ReplicaEndsRequest.topics."""

    topic_id: UUID = uuid()
    partitions: list[int] = array(int32)


class ReplicaEndsRequest(Request, key=ApiKey.REPLICA_ENDS):
    """The partitions in question."""

    topics: list[TopicPartitions] = array(TopicPartitions)


class ReplicaEnd(Struct):
    """An element of ReplicaEndsResponse.topics.partitions; error code 3 where there is no replica."""

    partition: int = int32()
    error_code: int = int16()
    last_epoch: int = int32(-1)
    end_offset: int = int64(-1)


class TopicEnds(Struct):
    """An element of ReplicaEndsResponse.topics."""

    topic_id: UUID = uuid()
    partitions: list[ReplicaEnd] = array(ReplicaEnd)


class ReplicaEndsResponse(Response, key=ApiKey.REPLICA_ENDS):
    """The last leader epoch and the end offset of each log."""

    error_code: int = int16()
    topics: list[TopicEnds] = array(TopicEnds)

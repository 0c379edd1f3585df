"""Pure: ConsumerGroupHeartbeat (api 68): join, stay in and leave a group (KIP-848).

Versions: v1 subscription by regular expression.
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
    nested,
    string,
    uuid,
)


class TopicPartitions(Struct):
    """An element of ConsumerGroupHeartbeatRequest.topic_partitions."""

    topic_id: UUID = uuid()
    partitions: list[int] = array(int32)


class ConsumerGroupHeartbeatRequest(Request, key=ApiKey.CONSUMER_GROUP_HEARTBEAT):
    """What changed at the member; null means unchanged."""

    group_id: str = string()
    member_id: str = string()
    member_epoch: int = int32()
    instance_id: str | None = string(None, nullable=True)
    rack_id: str | None = string(None, nullable=True)
    rebalance_timeout_ms: int = int32(-1)
    subscribed_topic_names: list[str] | None = array(string, None, nullable=True)
    subscribed_topic_regex: str | None = string(None, since=1, nullable=True)
    server_assignor: str | None = string(None, nullable=True)
    topic_partitions: list[TopicPartitions] | None = array(TopicPartitions, None, nullable=True)


class Assignment(Struct):
    """The type of ConsumerGroupHeartbeatResponse.assignment."""

    topic_partitions: list[TopicPartitions] = array(TopicPartitions)


class ConsumerGroupHeartbeatResponse(Response, key=ApiKey.CONSUMER_GROUP_HEARTBEAT):
    """The member's epoch, and its assignment if that changed."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(None, nullable=True)
    member_id: str | None = string(None, nullable=True)
    member_epoch: int = int32()
    heartbeat_interval_ms: int = int32()
    assignment: Assignment | None = nested(Assignment, None, nullable=True)

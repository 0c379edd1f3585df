"""Pure: ConsumerGroupDescribe (api 69): the state and members of groups of KIP-848.

Versions: v1 member type.
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
    int8,
    int16,
    int32,
    nested,
    string,
    uuid,
)


class ConsumerGroupDescribeRequest(Request, key=ApiKey.CONSUMER_GROUP_DESCRIBE):
    """The groups to describe."""

    group_ids: list[str] = array(string)
    include_authorized_operations: bool = boolean()


class TopicPartitions(Struct):
    """An element of ConsumerGroupDescribeResponse.groups.members.assignment.topic_partitions."""

    topic_id: UUID = uuid()
    topic_name: str = string()
    partitions: list[int] = array(int32)


class Assignment(Struct):
    """The type of ConsumerGroupDescribeResponse.groups.members.assignment and elsewhere."""

    topic_partitions: list[TopicPartitions] = array(TopicPartitions)


class Member(Struct):
    """An element of ConsumerGroupDescribeResponse.groups.members."""

    member_id: str = string()
    instance_id: str | None = string(None, nullable=True)
    rack_id: str | None = string(None, nullable=True)
    member_epoch: int = int32()
    client_id: str = string()
    client_host: str = string()
    subscribed_topic_names: list[str] = array(string)
    subscribed_topic_regex: str | None = string(None, nullable=True)
    assignment: Assignment = nested(Assignment)
    target_assignment: Assignment = nested(Assignment)
    member_type: int = int8(-1, since=1)


class DescribedGroup(Struct):
    """An element of ConsumerGroupDescribeResponse.groups."""

    error_code: int = int16()
    error_message: str | None = string(None, nullable=True)
    group_id: str = string()
    group_state: str = string()
    group_epoch: int = int32()
    assignment_epoch: int = int32()
    assignor_name: str = string()
    members: list[Member] = array(Member)
    authorized_operations: int = int32(-(2**31))


class ConsumerGroupDescribeResponse(Response, key=ApiKey.CONSUMER_GROUP_DESCRIBE):
    """The groups and their members."""

    throttle_time_ms: int = int32()
    groups: list[DescribedGroup] = array(DescribedGroup)

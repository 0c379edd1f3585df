"""Pure: a consumer group as ConsumerGroupDescribe shows it."""

from __future__ import annotations

from ottla.base.errors import ApiError
from ottla.cluster.image import Image
from ottla.coordination.groups.consumer import ConsumerGroup
from ottla.coordination.groups.consumer_member import Member, Owned, Partitions
from ottla.coordination.groups.shard import GroupShard
from ottla.protocol.apis.consumer_group_describe import (
    Assignment,
    DescribedGroup,
    TopicPartitions,
)
from ottla.protocol.apis.consumer_group_describe import Member as DescribedMember
from ottla.protocol.errors import ErrorCode

_CLASSIC, _CONSUMER = 0, 1


def describe(shard: GroupShard, group_id: str) -> DescribedGroup | ApiError:
    """The group, its members, what they own and what they shall own."""
    if not group_id:
        return ApiError(ErrorCode.INVALID_GROUP_ID)
    group = shard.groups.get(group_id)
    if group is None:
        return ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
    if not isinstance(group, ConsumerGroup):
        return ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state_name,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=group.preferred_assignor(group.members.values()),
        members=[_member(group, member) for member in group.members.values()],
    )


def _member(group: ConsumerGroup, member: Member) -> DescribedMember:
    return DescribedMember(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topics),
        subscribed_topic_regex=member.pattern,
        assignment=_assignment(member.assigned, group.image),
        target_assignment=_assignment(group.target_for(member), group.image),
        member_type=_CONSUMER if member.classic is None else _CLASSIC,
    )


def _assignment(partitions: Owned | Partitions, image: Image) -> Assignment:
    """Partitions of a topic that has been deleted since are left out: they have no name any more."""
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic_id, topic_name=topic.name, partitions=sorted(found))
            for topic_id, found in partitions.items()
            if (topic := image.topics_by_id.get(topic_id)) is not None
        ]
    )

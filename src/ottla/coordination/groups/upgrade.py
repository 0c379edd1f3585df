"""Pure: a classic group of consumers becomes a consumer group when the first member of that protocol comes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from ottla.base.errors import ApiError, ProtocolError
from ottla.cluster.image import Image
from ottla.config.groups import GroupsConfig
from ottla.coordination.decision import KeyValue
from ottla.coordination.groups.classic import ClassicGroup
from ottla.coordination.groups.consumer_member import (
    ClassicSide,
    Member,
    Partitions,
    owned_since,
    target_record,
)
from ottla.coordination.groups.consumer_records import Epoch, Kind, TargetEpoch, record
from ottla.coordination.groups.members import Member as ClassicMember
from ottla.coordination.groups.subscription import metadata_hash
from ottla.protocol.consumer_protocol import (
    CONSUMER,
    TopicPartitions,
    decode_assignment,
    decode_subscription,
)
from ottla.protocol.errors import ErrorCode

_UPGRADES: Final = frozenset({"upgrade", "bidirectional"})


@dataclass(frozen=True, slots=True)
class Upgraded:
    """A member as it will be, and what it owns."""

    member: Member
    target: Partitions


def records(group: ClassicGroup, config: GroupsConfig, image: Image) -> list[KeyValue]:
    """The end of the classic group and a consumer group in its place; ApiError if it cannot become one.

    A group without members leaves nothing but its end: its offsets stay.
    """
    if not len(group.members):
        return group.tombstones()
    _check(group, config)
    try:
        upgraded = [_upgraded(group, member, image) for member in group.members]
    except ProtocolError:
        raise _refused(group, "the embedded consumer protocol is malformed") from None
    names = frozenset().union(*(each.member.topics for each in upgraded))
    group_id, epoch = group.group_id, group.generation
    group_epoch = Epoch(epoch=epoch, metadata_hash=metadata_hash(names, image))
    return [
        *group.tombstones(),
        *(each.member.subscription_record(group_id) for each in upgraded),
        record(Kind.EPOCH, group_id, group_epoch),
        *(target_record(group_id, each.member.member_id, each.target) for each in upgraded),
        record(Kind.TARGET_EPOCH, group_id, TargetEpoch(assignment_epoch=epoch)),
        *(each.member.current_record(group_id) for each in upgraded),
    ]


def _check(group: ClassicGroup, config: GroupsConfig) -> None:
    if config.group_consumer_migration_policy not in _UPGRADES:
        raise _refused(group, "online upgrade is disabled")
    if group.protocol_type != CONSUMER:
        raise _refused(group, "the group does not use the consumer embedded protocol")
    if len(group.members) > config.group_consumer_max_size:
        raise _refused(group, "the group size exceeds the consumer group maximum size")


def _refused(group: ClassicGroup, why: str) -> ApiError:
    return ApiError(
        ErrorCode.GROUP_ID_NOT_FOUND,
        f"Cannot upgrade classic group {group.group_id} to consumer group because {why}.",
    )


def _upgraded(group: ClassicGroup, member: ClassicMember, image: Image) -> Upgraded:
    assignment = decode_assignment(member.assignment)
    if assignment.user_data:
        raise _refused(group, "an unsupported custom assignor is in use")
    # A group that has never been stable has chosen no protocol; what a member subscribes to is the same in all.
    metadata = member.metadata(group.protocol) or next((data for _, data in member.protocols), b"")
    subscription = decode_subscription(metadata)
    target = _by_id(assignment.partitions, image)
    after = Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=subscription.rack or None,
        client_id=member.client_id,
        client_host=member.client_host,
        topics=frozenset(subscription.topics),
        # Classic members never subscribe by pattern on this side.
        pattern="",
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        classic=ClassicSide(member.session_timeout_ms, member.protocols),
        epoch=group.generation,
        previous_epoch=group.generation,
        assigned=owned_since(target, group.generation),
    )
    return Upgraded(after, target)


def _by_id(assigned: Iterable[TopicPartitions], image: Image) -> dict[UUID, frozenset[int]]:
    return {
        topic.topic_id: frozenset(each.partitions)
        for each in assigned
        if each.partitions and (topic := image.topics.get(each.topic)) is not None
    }

"""Pure: a classic group as DescribeGroups shows it."""

from __future__ import annotations

from ottla.base.errors import ApiError
from ottla.coordination.groups.classic import ClassicGroup
from ottla.coordination.groups.members import Member
from ottla.coordination.groups.shard import GroupShard
from ottla.coordination.groups.state import GroupState
from ottla.protocol.apis.describe_groups import DescribedGroup, DescribedGroupMember
from ottla.protocol.errors import ErrorCode


def describe(shard: GroupShard, group_id: str) -> DescribedGroup | ApiError:
    """The group and its members; while it is not stable, nobody owns anything."""
    group = shard.groups.get(group_id)
    if group is None:
        return ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
    if not isinstance(group, ClassicGroup):
        return ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a classic group.")
    stable = group.state is GroupState.STABLE
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state_name,
        protocol_type=group.protocol_type,
        protocol_data=group.protocol or "" if stable else "",
        members=[_member(member, group.protocol if stable else None) for member in group.members],
    )


def _member(member: Member, protocol: str | None) -> DescribedGroupMember:
    return DescribedGroupMember(
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        member_metadata=b"" if protocol is None else member.metadata(protocol),
        member_assignment=b"" if protocol is None else member.assignment,
    )

"""Pure: what members of a classic group are told when they join and sync."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.coordination.groups.members import Member
from ottla.protocol.apis.join_group import JoinGroupResponse, JoinGroupResponseMember
from ottla.protocol.apis.sync_group import SyncGroupResponse
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ottla.coordination.groups.classic import ClassicGroup


def member_id_required(member_id: str) -> JoinGroupResponse:
    """Come back with this id (KIP-394): a client that gives up on the way leaves no member behind."""
    return JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id=member_id)


def joined(group: ClassicGroup, member: Member, *, with_members: bool) -> JoinGroupResponse:
    """The generation; whoever is to assign gets to know all members and what they ask for."""
    return JoinGroupResponse(
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol,
        leader=group.members.leader_id or "",
        member_id=member.member_id,
        members=[
            JoinGroupResponseMember(
                member_id=each.member_id,
                group_instance_id=each.instance_id,
                metadata=each.metadata(group.protocol),
            )
            for each in group.members
        ]
        if with_members
        else [],
    )


def synced(group: ClassicGroup, assignment: bytes) -> SyncGroupResponse:
    """What the member owns in this generation."""
    return SyncGroupResponse(
        protocol_type=group.protocol_type, protocol_name=group.protocol, assignment=assignment
    )

"""Pure: LeaveGroup (api 13): leave a classic group.

Versions: v3 several members (KIP-345) · v4 flexible · v5 reason.
"""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import Request, Response, Struct, array, int16, int32, string


class MemberIdentity(Struct):
    """An element of LeaveGroupRequest.members."""

    member_id: str = string()
    group_instance_id: str | None = string(None, nullable=True)
    reason: str | None = string(None, since=5, nullable=True)


class LeaveGroupRequest(Request, key=ApiKey.LEAVE_GROUP):
    """Who leaves; up to v2 one member."""

    group_id: str = string()
    member_id: str = string(until=2)
    members: list[MemberIdentity] = array(MemberIdentity, since=3)


class MemberResponse(Struct):
    """An element of LeaveGroupResponse.members."""

    member_id: str = string()
    group_instance_id: str | None = string(nullable=True)
    error_code: int = int16()


class LeaveGroupResponse(Response, key=ApiKey.LEAVE_GROUP):
    """Whether each member left."""

    throttle_time_ms: int = int32(since=1)
    error_code: int = int16()
    members: list[MemberResponse] = array(MemberResponse, since=3)

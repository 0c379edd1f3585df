"""Pure: JoinGroup (api 11): become a member of a classic group.

Versions: v1 rebalance time-out · v4 two-step join (KIP-394) · v5 static members (KIP-345) · v6
flexible · v7 protocol type · v8 reason · v9 skip assignment.
"""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    blob,
    boolean,
    int16,
    int32,
    string,
)


class JoinGroupRequestProtocol(Struct):
    """An element of JoinGroupRequest.protocols."""

    name: str = string()
    metadata: bytes = blob()


class JoinGroupRequest(Request, key=ApiKey.JOIN_GROUP):
    """What the member can do, and who it is if it was here before."""

    group_id: str = string()
    session_timeout_ms: int = int32()
    rebalance_timeout_ms: int = int32(-1, since=1)
    member_id: str = string()
    group_instance_id: str | None = string(None, since=5, nullable=True)
    protocol_type: str = string()
    protocols: list[JoinGroupRequestProtocol] = array(JoinGroupRequestProtocol)
    reason: str | None = string(None, since=8, nullable=True)


class JoinGroupResponseMember(Struct):
    """An element of JoinGroupResponse.members."""

    member_id: str = string()
    group_instance_id: str | None = string(None, since=5, nullable=True)
    metadata: bytes = blob()


class JoinGroupResponse(Response, key=ApiKey.JOIN_GROUP):
    """The generation, its leader, and for the leader its members."""

    throttle_time_ms: int = int32(since=2)
    error_code: int = int16()
    generation_id: int = int32(-1)
    protocol_type: str | None = string(None, since=7, nullable=True)
    protocol_name: str | None = string(nullable_since=7)
    leader: str = string()
    skip_assignment: bool = boolean(since=9)
    member_id: str = string()
    members: list[JoinGroupResponseMember] = array(JoinGroupResponseMember)

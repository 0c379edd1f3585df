"""Pure: SyncGroup (api 14): hand out the assignment of a generation.

Versions: v3 static members (KIP-345) · v4 flexible · v5 protocol type and name.
"""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import Request, Response, Struct, array, blob, int16, int32, string


class SyncGroupRequestAssignment(Struct):
    """An element of SyncGroupRequest.assignments."""

    member_id: str = string()
    assignment: bytes = blob()


class SyncGroupRequest(Request, key=ApiKey.SYNC_GROUP):
    """The assignment of all members from the leader, none from the others."""

    group_id: str = string()
    generation_id: int = int32()
    member_id: str = string()
    group_instance_id: str | None = string(None, since=3, nullable=True)
    protocol_type: str | None = string(None, since=5, nullable=True)
    protocol_name: str | None = string(None, since=5, nullable=True)
    assignments: list[SyncGroupRequestAssignment] = array(SyncGroupRequestAssignment)


class SyncGroupResponse(Response, key=ApiKey.SYNC_GROUP):
    """The assignment of this member."""

    throttle_time_ms: int = int32(since=1)
    error_code: int = int16()
    protocol_type: str | None = string(None, since=5, nullable=True)
    protocol_name: str | None = string(None, since=5, nullable=True)
    assignment: bytes = blob()

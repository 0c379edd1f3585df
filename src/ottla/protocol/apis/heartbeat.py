"""Pure: Heartbeat (api 12): tell the coordinator that a member of a classic group lives.

Versions: v3 static members (KIP-345) · v4 flexible.
"""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import Request, Response, int16, int32, string


class HeartbeatRequest(Request, key=ApiKey.HEARTBEAT):
    """The member and its generation."""

    group_id: str = string()
    generation_id: int = int32()
    member_id: str = string()
    group_instance_id: str | None = string(None, since=3, nullable=True)


class HeartbeatResponse(Response, key=ApiKey.HEARTBEAT):
    """Whether the generation is still current."""

    throttle_time_ms: int = int32(since=1)
    error_code: int = int16()

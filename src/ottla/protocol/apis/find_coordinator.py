"""Pure: FindCoordinator (api 10): which broker coordinates a group or a transactional id.

Versions: v1 key type · v3 flexible · v4 several keys (KIP-699) · v6 share groups.
"""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import Request, Response, Struct, array, int8, int16, int32, string


class FindCoordinatorRequest(Request, key=ApiKey.FIND_COORDINATOR):
    """The keys to look up; up to v3 one key."""

    key: str = string(until=3)
    key_type: int = int8(since=1)
    coordinator_keys: list[str] = array(string, since=4)


class Coordinator(Struct):
    """An element of FindCoordinatorResponse.coordinators."""

    key: str = string()
    node_id: int = int32()
    host: str = string()
    port: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True)


class FindCoordinatorResponse(Response, key=ApiKey.FIND_COORDINATOR):
    """The coordinator of each key."""

    throttle_time_ms: int = int32(since=1)
    error_code: int = int16(until=3)
    error_message: str | None = string(since=1, until=3, nullable=True)
    node_id: int = int32(until=3)
    host: str = string(until=3)
    port: int = int32(until=3)
    coordinators: list[Coordinator] = array(Coordinator, since=4)

"""Pure: ListGroups (api 16): the groups that a broker coordinates.

Versions: v3 flexible · v4 by state · v5 by type (KIP-848).
"""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import Request, Response, Struct, array, int16, int32, string


class ListGroupsRequest(Request, key=ApiKey.LIST_GROUPS):
    """Filters, empty for all."""

    states_filter: list[str] = array(string, since=4)
    types_filter: list[str] = array(string, since=5)


class ListedGroup(Struct):
    """An element of ListGroupsResponse.groups."""

    group_id: str = string()
    protocol_type: str = string()
    group_state: str = string(since=4)
    group_type: str = string(since=5)


class ListGroupsResponse(Response, key=ApiKey.LIST_GROUPS):
    """The groups."""

    throttle_time_ms: int = int32(since=1)
    error_code: int = int16()
    groups: list[ListedGroup] = array(ListedGroup)

"""Pure: DeleteGroups (api 42): delete groups.

Versions: v2 flexible.
"""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import Request, Response, Struct, array, int16, int32, string


class DeleteGroupsRequest(Request, key=ApiKey.DELETE_GROUPS):
    """The groups to delete."""

    groups_names: list[str] = array(string)


class DeletableGroupResult(Struct):
    """An element of DeleteGroupsResponse.results."""

    group_id: str = string()
    error_code: int = int16()


class DeleteGroupsResponse(Response, key=ApiKey.DELETE_GROUPS):
    """Whether each group was deleted."""

    throttle_time_ms: int = int32()
    results: list[DeletableGroupResult] = array(DeletableGroupResult)

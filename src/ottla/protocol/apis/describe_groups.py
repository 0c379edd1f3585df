"""Pure: DescribeGroups (api 15): the state and the members of classic groups.

Versions: v3 authorized operations · v4 static members · v5 flexible · v6 error message.
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


class DescribeGroupsRequest(Request, key=ApiKey.DESCRIBE_GROUPS):
    """The groups to describe."""

    groups: list[str] = array(string)
    include_authorized_operations: bool = boolean(since=3)


class DescribedGroupMember(Struct):
    """An element of DescribeGroupsResponse.groups.members."""

    member_id: str = string()
    group_instance_id: str | None = string(None, since=4, nullable=True)
    client_id: str = string()
    client_host: str = string()
    member_metadata: bytes = blob()
    member_assignment: bytes = blob()


class DescribedGroup(Struct):
    """An element of DescribeGroupsResponse.groups."""

    error_code: int = int16()
    error_message: str | None = string(None, since=6, nullable=True)
    group_id: str = string()
    group_state: str = string()
    protocol_type: str = string()
    protocol_data: str = string()
    members: list[DescribedGroupMember] = array(DescribedGroupMember)
    authorized_operations: int = int32(-(2**31), since=3)


class DescribeGroupsResponse(Response, key=ApiKey.DESCRIBE_GROUPS):
    """The groups and their members."""

    throttle_time_ms: int = int32(since=1)
    groups: list[DescribedGroup] = array(DescribedGroup)

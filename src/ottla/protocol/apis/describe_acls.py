"""Pure: DescribeAcls (api 29): which access rules match a filter.

Versions: v1 pattern types (KIP-290) · v2 flexible · v3 user resources.
"""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import Request, Response, Struct, array, int8, int16, int32, string


class DescribeAclsRequest(Request, key=ApiKey.DESCRIBE_ACLS):
    """The filter; null and the type 1 (any) match everything."""

    resource_type_filter: int = int8()
    resource_name_filter: str | None = string(nullable=True)
    pattern_type_filter: int = int8(3)
    principal_filter: str | None = string(nullable=True)
    host_filter: str | None = string(nullable=True)
    operation: int = int8()
    permission_type: int = int8()


class AclDescription(Struct):
    """An element of DescribeAclsResponse.resources.acls."""

    principal: str = string()
    host: str = string()
    operation: int = int8()
    permission_type: int = int8()


class DescribeAclsResource(Struct):
    """An element of DescribeAclsResponse.resources."""

    resource_type: int = int8()
    resource_name: str = string()
    pattern_type: int = int8(3)
    acls: list[AclDescription] = array(AclDescription)


class DescribeAclsResponse(Response, key=ApiKey.DESCRIBE_ACLS):
    """The rules that match, by resource."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True)
    resources: list[DescribeAclsResource] = array(DescribeAclsResource)

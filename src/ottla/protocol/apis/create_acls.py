"""Pure: CreateAcls (api 30): add access rules.

Versions: v1 pattern types (KIP-290) · v2 flexible · v3 user resources.
"""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import Request, Response, Struct, array, int8, int16, int32, string


class AclCreation(Struct):
    """An element of CreateAclsRequest.creations."""

    resource_type: int = int8()
    resource_name: str = string()
    resource_pattern_type: int = int8(3)
    principal: str = string()
    host: str = string()
    operation: int = int8()
    permission_type: int = int8()


class CreateAclsRequest(Request, key=ApiKey.CREATE_ACLS):
    """The rules to add."""

    creations: list[AclCreation] = array(AclCreation)


class AclCreationResult(Struct):
    """An element of CreateAclsResponse.results."""

    error_code: int = int16()
    error_message: str | None = string(nullable=True)


class CreateAclsResponse(Response, key=ApiKey.CREATE_ACLS):
    """What became of each rule, in the order of the request."""

    throttle_time_ms: int = int32()
    results: list[AclCreationResult] = array(AclCreationResult)

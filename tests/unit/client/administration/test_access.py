"""Access rules as they cross the wire: filters, rules, and what became of each."""

from __future__ import annotations

from typing import Any

from ottla.base.errors import ApiError
from ottla.client.administration.access import (
    Access,
    Acl,
    AclFilter,
    AclOperation,
    AclPattern,
    AclPermission,
    AclResource,
)
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.create_acls import AclCreationResult, CreateAclsResponse
from ottla.protocol.apis.delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsResponse,
)
from ottla.protocol.apis.describe_acls import (
    AclDescription,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from ottla.protocol.errors import ErrorCode
from tests.unit.client.scripted import ScriptedBroker, metadata, run

RULE = Acl(
    AclResource.TOPIC,
    "orders",
    AclPattern.PREFIXED,
    "User:alice",
    "*",
    AclOperation.READ,
    AclPermission.ALLOW,
)


def described(request: Any, version: int) -> DescribeAclsResponse:
    assert request.principal_filter == "User:alice"
    assert (request.resource_type_filter, request.pattern_type_filter) == (1, 1)
    acl = AclDescription(principal="User:alice", host="*", operation=3, permission_type=3)
    resource = DescribeAclsResource(
        resource_type=2, resource_name="orders", pattern_type=4, acls=[acl]
    )
    return DescribeAclsResponse(error_message=None, resources=[resource])


def created(request: Any, version: int) -> CreateAclsResponse:
    assert [each.resource_pattern_type for each in request.creations] == [4, 3]
    refused = AclCreationResult(error_code=ErrorCode.INVALID_REQUEST, error_message="no such host")
    return CreateAclsResponse(results=[AclCreationResult(error_message=None), refused])


def deleted(request: Any, version: int) -> DeleteAclsResponse:
    match = DeleteAclsMatchingAcl(
        error_message=None,
        resource_type=2,
        resource_name="orders",
        pattern_type=4,
        principal="User:alice",
        host="*",
        operation=3,
        permission_type=3,
    )
    result = DeleteAclsFilterResult(error_message=None, matching_acls=[match])
    return DeleteAclsResponse(filter_results=[result])


def test_rules_are_found_added_and_removed() -> None:
    async def story() -> None:
        async with ScriptedBroker() as broker:
            broker.answers = {
                ApiKey.METADATA: metadata({1: broker}),
                ApiKey.DESCRIBE_ACLS: described,
                ApiKey.CREATE_ACLS: created,
                ApiKey.DELETE_ACLS: deleted,
            }
            async with Access({"bootstrap.servers": broker.bootstrap}) as admin:
                which = AclFilter(principal="User:alice")
                assert await admin.describe_acls(which) == [RULE]
                wrong = RULE._replace(pattern=AclPattern.LITERAL, host="?")
                made = await admin.create_acls([RULE, wrong])
                assert made[RULE] is None
                assert isinstance(made[wrong], ApiError)
                assert str(made[wrong]) == "no such host"
                assert await admin.delete_acls([which]) == {which: {RULE: None}}

    run(story())

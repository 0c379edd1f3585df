"""Access rules (ACLs): who may do what to which resource."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Any, NamedTuple

from ottla.client.administration.base import Administration, Outcome, outcome
from ottla.client.errors import check
from ottla.protocol.apis.create_acls import AclCreation, CreateAclsRequest
from ottla.protocol.apis.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from ottla.protocol.apis.describe_acls import DescribeAclsRequest


class AclResource(IntEnum):
    """What a rule is about."""

    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class AclPattern(IntEnum):
    """How the name of a rule is compared; MATCH finds all rules that concern a name."""

    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class AclOperation(IntEnum):
    """What a rule allows or denies."""

    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class AclPermission(IntEnum):
    """Whether a rule allows or denies."""

    ANY = 1
    DENY = 2
    ALLOW = 3


class Acl(NamedTuple):
    """One rule."""

    resource: int
    name: str
    pattern: int
    principal: str
    host: str
    operation: int
    permission: int


class AclFilter(NamedTuple):
    """Which rules are meant; as it stands, all."""

    resource: int = AclResource.ANY
    name: str | None = None
    pattern: int = AclPattern.ANY
    principal: str | None = None
    host: str | None = None
    operation: int = AclOperation.ANY
    permission: int = AclPermission.ANY


class Access(Administration):
    """Administration of access rules."""

    async def describe_acls(self, which: AclFilter = AclFilter()) -> list[Acl]:  # noqa: B008
        """The rules that match a filter."""
        response = await self.ask_any(DescribeAclsRequest(**_filter_fields(which)))
        check(response.error_code, response.error_message)
        return sorted(
            Acl(
                found.resource_type,
                found.resource_name,
                found.pattern_type,
                acl.principal,
                acl.host,
                acl.operation,
                acl.permission_type,
            )
            for found in response.resources
            for acl in found.acls
        )

    async def create_acls(self, acls: Iterable[Acl]) -> dict[Acl, Outcome[None]]:
        """Add rules."""
        wanted = list(acls)
        creations = [
            AclCreation(
                resource_type=acl.resource,
                resource_name=acl.name,
                resource_pattern_type=acl.pattern,
                principal=acl.principal,
                host=acl.host,
                operation=acl.operation,
                permission_type=acl.permission,
            )
            for acl in wanted
        ]
        response = await self.cluster.ask_controller(CreateAclsRequest(creations=creations))
        return {
            acl: outcome(result.error_code, result.error_message, None)
            for acl, result in zip(wanted, response.results, strict=True)
        }

    async def delete_acls(
        self, filters: Iterable[AclFilter]
    ) -> dict[AclFilter, Outcome[dict[Acl, Outcome[None]]]]:
        """Remove the rules that match filters; for each filter the rules it hit."""
        wanted = list(filters)
        request = DeleteAclsRequest(
            filters=[DeleteAclsFilter(**_filter_fields(each)) for each in wanted]
        )
        response = await self.cluster.ask_controller(request)
        return {
            each: outcome(result.error_code, result.error_message, _deleted(result.matching_acls))
            for each, result in zip(wanted, response.filter_results, strict=True)
        }


def _filter_fields(which: AclFilter) -> dict[str, Any]:
    return {
        "resource_type_filter": which.resource,
        "resource_name_filter": which.name,
        "pattern_type_filter": which.pattern,
        "principal_filter": which.principal,
        "host_filter": which.host,
        "operation": which.operation,
        "permission_type": which.permission,
    }


def _deleted(matching: Iterable[Any]) -> dict[Acl, Outcome[None]]:
    return {
        Acl(
            found.resource_type,
            found.resource_name,
            found.pattern_type,
            found.principal,
            found.host,
            found.operation,
            found.permission_type,
        ): outcome(found.error_code, found.error_message, None)
        for found in matching
    }

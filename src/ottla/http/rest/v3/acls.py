"""Access rules: search, create, delete."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final, Literal, TypeVar
from urllib.parse import urlencode

import msgspec

from ottla.base.errors import ApiError
from ottla.client.administration.access import (
    Acl,
    AclFilter,
    AclOperation,
    AclPattern,
    AclPermission,
    AclResource,
)
from ottla.config.kinds import Kind, OptionalText
from ottla.http.rest.v3.declare import CLUSTER, route
from ottla.http.rest.v3.links import Links, Resource, ResourceMetadata, links_of, list_of
from ottla.http.server.call import Call
from ottla.http.server.errors import HttpError
from ottla.http.server.routes import Query
from ottla.inspection.outcomes import raise_first

E = TypeVar("E", bound=IntEnum)


class AclData(Resource, kw_only=True):
    """A rule."""

    cluster_id: str
    resource_type: str
    resource_name: str
    pattern_type: str
    principal: str
    host: str
    operation: str
    permission: str


class CreateAclRequest(msgspec.Struct):
    """A rule to be made."""

    resource_type: Literal[
        "TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID", "DELEGATION_TOKEN", "USER"
    ]
    resource_name: str
    pattern_type: Literal["LITERAL", "PREFIXED"]
    principal: str
    host: str
    operation: Literal[
        "ALL", "READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "CLUSTER_ACTION",
        "DESCRIBE_CONFIGS", "ALTER_CONFIGS", "IDEMPOTENT_WRITE", "CREATE_TOKENS", "DESCRIBE_TOKENS",
    ]  # fmt: skip
    permission: Literal["ALLOW", "DENY"]


class CreateAclsRequest(msgspec.Struct):
    """Rules to be made together."""

    data: list[CreateAclRequest]


class DeletedAcls(msgspec.Struct):
    """The rules that were deleted."""

    data: list[AclData]


class Named(Kind[int]):
    """A word of an enumeration, in letters of either case."""

    __slots__ = ("words",)
    code, word = 2, "string"

    def __init__(self, words: type[IntEnum]) -> None:
        self.words = words

    def parse(self, text: str) -> int:
        found = self.words.__members__.get(text.strip().upper())
        if found is None:
            raise ValueError(f"must be {self.allowed()}")
        return int(found)

    def allowed(self) -> str:
        return "one of " + ", ".join(self.words.__members__)


async def search_acls(call: Call) -> Any:
    """Return the rules that match."""
    links = await links_of(call)
    found = await (await call.admin()).describe_acls(_filter(call))
    listed = links.listed("KafkaAclList", [_acl(links, each) for each in found], "acls")
    query = call.request.url.query
    listed["metadata"]["self"] += f"?{query}" if query else ""
    return listed


async def create_acl(call: Call) -> None:
    """Make a rule."""
    wanted: CreateAclRequest = await call.body()
    raise_first(await (await call.admin()).create_acls([_wanted(wanted)]))


async def create_acls(call: Call) -> None:
    """Make several rules."""
    wanted: CreateAclsRequest = await call.body()
    if not wanted.data:
        raise HttpError(400, "no rule is given: data is empty", code=400)
    raise_first(await (await call.admin()).create_acls([_wanted(each) for each in wanted.data]))


async def delete_acls(call: Call) -> DeletedAcls:
    """Delete the rules that match."""
    links = await links_of(call)
    which = _filter(call)
    found = (await (await call.admin()).delete_acls([which]))[which]
    if isinstance(found, ApiError):
        raise found
    raise_first(found)
    return DeletedAcls([_acl(links, each) for each in found])


def _filter(call: Call) -> AclFilter:
    said = call.query
    return AclFilter(
        said["resource_type"],
        said["resource_name"],
        said["pattern_type"],
        said["principal"],
        said["host"],
        said["operation"],
        said["permission"],
    )


def _wanted(said: CreateAclRequest) -> Acl:
    return Acl(
        AclResource[said.resource_type],
        said.resource_name,
        AclPattern[said.pattern_type],
        said.principal,
        said.host,
        AclOperation[said.operation],
        AclPermission[said.permission],
    )


def _acl(links: Links, acl: Acl) -> AclData:
    said = {
        "resource_type": _name(AclResource, acl.resource),
        "resource_name": acl.name,
        "pattern_type": _name(AclPattern, acl.pattern),
        "principal": acl.principal,
        "host": acl.host,
        "operation": _name(AclOperation, acl.operation),
        "permission": _name(AclPermission, acl.permission),
    }
    address = f"{links.url('acls')}?{urlencode(said)}"
    return AclData(
        kind="KafkaAcl", metadata=ResourceMetadata(address), cluster_id=links.cluster_id, **said
    )


def _name(words: type[IntEnum], number: int) -> str:
    try:
        return words(number).name
    except ValueError:
        return "UNKNOWN"


def _queries(*, required: bool) -> tuple[Query, ...]:
    return (
        Query("resource_type", Named(AclResource), "What the rule is about.", int(AclResource.ANY), required),
        Query("resource_name", OptionalText(), "Its name."),
        Query("pattern_type", Named(AclPattern), "How the name is compared.", int(AclPattern.ANY), required),
        Query("principal", OptionalText(), "Whom the rule is for, such as User:alice."),
        Query("host", OptionalText(), "From where; * is everywhere."),
        Query("operation", Named(AclOperation), "What is allowed or denied.", int(AclOperation.ANY), required),
        Query("permission", Named(AclPermission), "Allowed or denied.", int(AclPermission.ANY), required),
    )  # fmt: skip


ROUTES: Final = (
    route("GET", f"{CLUSTER}/acls", search_acls, "Search access rules", "ACL",
          query=_queries(required=False), answer=list_of(AclData)),
    route("POST", f"{CLUSTER}/acls", create_acl, "Create an access rule", "ACL",
          body=CreateAclRequest, status=201),
    route("POST", f"{CLUSTER}/acls:batch", create_acls, "Create access rules", "ACL",
          body=CreateAclsRequest, status=201),
    route("DELETE", f"{CLUSTER}/acls", delete_acls, "Delete access rules", "ACL",
          query=_queries(required=True), answer=DeletedAcls),
)  # fmt: skip

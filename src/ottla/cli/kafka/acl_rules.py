"""From the options of kafka-acls to resources and rules."""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

from ottla.cli.kafka.options import Failed, Given, UsageError
from ottla.client.administration.access import (
    Acl,
    AclFilter,
    AclOperation,
    AclPattern,
    AclPermission,
    AclResource,
)

CLUSTER_NAME: Final = "kafka-cluster"
_NAMED: Final = {
    "topic": AclResource.TOPIC,
    "group": AclResource.GROUP,
    "transactional-id": AclResource.TRANSACTIONAL_ID,
    "delegation-token": AclResource.DELEGATION_TOKEN,
    "user-principal": AclResource.USER,
}
_ANY_HOST: Final = "*"
_PATTERNS: Final = {each.name: each for each in AclPattern}
_OPERATIONS: Final = {each.name.replace("_", ""): each for each in AclOperation}
_TOPIC_OPERATIONS: Final = frozenset(
    (
        AclOperation.READ,
        AclOperation.WRITE,
        AclOperation.CREATE,
        AclOperation.DESCRIBE,
        AclOperation.DELETE,
        AclOperation.ALTER,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
    )
)
_SUPPORTED: Final = {
    AclResource.TOPIC: _TOPIC_OPERATIONS,
    AclResource.GROUP: frozenset(
        (
            AclOperation.READ,
            AclOperation.DESCRIBE,
            AclOperation.DELETE,
            AclOperation.DESCRIBE_CONFIGS,
            AclOperation.ALTER_CONFIGS,
        )
    ),
    AclResource.CLUSTER: frozenset(
        (
            AclOperation.CREATE,
            AclOperation.CLUSTER_ACTION,
            AclOperation.DESCRIBE_CONFIGS,
            AclOperation.ALTER_CONFIGS,
            AclOperation.IDEMPOTENT_WRITE,
            AclOperation.ALTER,
            AclOperation.DESCRIBE,
        )
    ),
    AclResource.TRANSACTIONAL_ID: frozenset(
        (AclOperation.DESCRIBE, AclOperation.WRITE, AclOperation.TWO_PHASE_COMMIT)
    ),
    AclResource.DELEGATION_TOKEN: frozenset((AclOperation.DESCRIBE,)),
    AclResource.USER: frozenset((AclOperation.CREATE_TOKENS, AclOperation.DESCRIBE_TOKENS)),
}
_PRODUCER: Final = {
    AclResource.TOPIC: (AclOperation.WRITE, AclOperation.DESCRIBE, AclOperation.CREATE),
    AclResource.TRANSACTIONAL_ID: (AclOperation.WRITE, AclOperation.DESCRIBE),
}
_CONSUMER: Final = {
    AclResource.TOPIC: (AclOperation.READ, AclOperation.DESCRIBE),
    AclResource.GROUP: (AclOperation.READ,),
}


class Resource(NamedTuple):
    """What rules are about; without a name, everything of its type."""

    type: AclResource
    name: str | None
    pattern: AclPattern

    def __str__(self) -> str:
        name = "<any>" if self.name is None else self.name
        return (
            f"ResourcePattern(resourceType={self.type.name}, name={name}, "
            f"patternType={self.pattern.name})"
        )


class Entry(NamedTuple):
    """Who may do what from where."""

    principal: str
    host: str
    operation: AclOperation
    permission: AclPermission

    def __str__(self) -> str:
        return (
            f"(principal={self.principal}, host={self.host}, operation={self.operation.name}, "
            f"permissionType={self.permission.name})"
        )


Rules: TypeAlias = dict[Resource, list[Entry]]


def resources(given: Given) -> list[Resource]:
    """The resources that the options name."""
    pattern = _pattern(given)
    found = [
        Resource(kind, name, pattern)
        for option, kind in _NAMED.items()
        for name in map(str.strip, given.values(option))
    ]
    if given.has("cluster"):
        found.append(Resource(AclResource.CLUSTER, CLUSTER_NAME, AclPattern.LITERAL))
    return found


def rules(given: Given) -> Rules:
    """The rules that the options spell out, for each resource."""
    named = resources(given)
    if given.has("idempotent") and not given.has("cluster"):
        named.append(Resource(AclResource.CLUSTER, CLUSTER_NAME, AclPattern.LITERAL))
    if not named:
        raise UsageError(
            "You must provide at least one resource: --topic <topic> or --cluster or "
            "--group <group> or --delegation-token <Delegation Token ID>"
        )
    made = {each: _entries(given, _operations(given, each.type)) for each in named}
    return {each: entries for each, entries in made.items() if entries or given.has("remove")}


def acls(resource: Resource, entries: list[Entry]) -> list[Acl]:
    """The rules of a resource, as a broker takes them."""
    return [Acl(resource.type, resource.name or "", resource.pattern, *entry) for entry in entries]


def filters(resource: Resource, entries: list[Entry]) -> list[AclFilter]:
    """What matches the rules of a resource, or all there are where none is spelled out."""
    if not entries:
        return [AclFilter(resource.type, resource.name, resource.pattern)]
    return [AclFilter(resource.type, resource.name, resource.pattern, *entry) for entry in entries]


def grouped(found: list[Acl]) -> Rules:
    """Rules as a broker tells them, by resource."""
    by_resource: Rules = {}
    for acl in sorted(found):
        resource = Resource(AclResource(acl.resource), acl.name, AclPattern(acl.pattern))
        operation, permission = AclOperation(acl.operation), AclPermission(acl.permission)
        entry = Entry(acl.principal, acl.host, operation, permission)
        by_resource.setdefault(resource, []).append(entry)
    return by_resource


def _pattern(given: Given) -> AclPattern:
    text = given.value("resource-pattern-type") or AclPattern.LITERAL.name
    try:
        return _PATTERNS[text.upper()]
    except KeyError:
        known = ", ".join(_PATTERNS)
        raise UsageError(f"Unknown resource-pattern-type: {text} (there are {known})") from None


def _operations(given: Given, kind: AclResource) -> list[AclOperation]:
    """What is allowed or denied on a resource of this type."""
    if given.has("producer") or given.has("consumer"):
        wanted = [
            *(_PRODUCER.get(kind, ()) if given.has("producer") else ()),
            *(_CONSUMER.get(kind, ()) if given.has("consumer") else ()),
        ]
        if kind is AclResource.CLUSTER and given.has("idempotent"):
            wanted.append(AclOperation.IDEMPOTENT_WRITE)
        return list(dict.fromkeys(wanted))
    named = [text.strip() for text in given.values("operation")] or ["All"]
    found = [_OPERATIONS.get(text.replace("_", "").upper()) for text in named]
    supported = _SUPPORTED[kind] | {AclOperation.ALL}
    if not supported.issuperset(found):
        names = ", ".join(sorted(each.name for each in supported))
        raise UsageError(f"ResourceType {kind.name} only supports operations [{names}]")
    return [each for each in found if each is not None]


def _entries(given: Given, operations: list[AclOperation]) -> list[Entry]:
    found = []
    for word, permission in (("allow", AclPermission.ALLOW), ("deny", AclPermission.DENY)):
        hosts = given.values(f"{word}-host") or [_ANY_HOST]
        for principal in map(_principal, given.values(f"{word}-principal")):
            found += [
                Entry(principal, host.strip(), operation, permission)
                for host in hosts
                for operation in operations
            ]
    return found


def _principal(text: str) -> str:
    kind, colon, name = text.strip().partition(":")
    if not colon or not kind or not name:
        raise Failed(f"expected a string in format principalType:principalName but got {text}")
    return f"{kind}:{name}"

"""Access rules as options and as rows: --topic orders, --allow User:alice, --operation read."""

from __future__ import annotations

import argparse
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

from ottla.base.errors import OttlaError
from ottla.cli.parsing import UsageError
from ottla.client.administration.access import (
    Acl,
    AclFilter,
    AclOperation,
    AclPattern,
    AclPermission,
    AclResource,
)
from ottla.client.errors import UnsupportedByBroker

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ottla.client.admin import Admin

_RESOURCES: Final = {
    "topic": AclResource.TOPIC,
    "group": AclResource.GROUP,
    "transactional_id": AclResource.TRANSACTIONAL_ID,
}
_CLUSTER_NAME: Final = "kafka-cluster"


def add_rule_arguments(parser: argparse.ArgumentParser) -> None:
    """Which resource, who, and what."""
    one = parser.add_mutually_exclusive_group()
    one.add_argument("--topic", metavar="TOPIC")
    one.add_argument("--group", metavar="GROUP")
    one.add_argument("--transactional-id", metavar="ID")
    one.add_argument("--cluster", action="store_true")
    parser.add_argument(
        "--prefix", action="store_true", help="all names that begin with the one that is given"
    )
    who = parser.add_mutually_exclusive_group()
    who.add_argument("--allow", metavar="PRINCIPAL", help="such as User:alice")
    who.add_argument("--deny", metavar="PRINCIPAL")
    parser.add_argument("--host", metavar="HOST", help="only from there")
    operations = [each.name.lower().replace("_", "-") for each in AclOperation if each > 1]
    parser.add_argument(
        "--operation", action="append", default=[], choices=operations, metavar="OPERATION",
        help=f"one of {', '.join(operations)}; may be given again",
    )  # fmt: skip


def wanted_filters(arguments: argparse.Namespace) -> list[AclFilter]:
    """The rules that the options mean; what was left out means all."""
    resource, name = _resource(arguments)
    pattern: int = AclPattern.ANY
    if name is not None:
        pattern = AclPattern.PREFIXED if arguments.prefix else AclPattern.LITERAL
    permission = AclPermission.ANY
    if arguments.allow or arguments.deny:
        permission = AclPermission.ALLOW if arguments.allow else AclPermission.DENY
    principal = arguments.allow or arguments.deny
    return [
        AclFilter(resource, name, pattern, principal, arguments.host, operation, permission)
        for operation in _operations(arguments) or [AclOperation.ANY]
    ]


def wanted_rules(arguments: argparse.Namespace) -> list[Acl]:
    """The rules that the options spell out."""
    resource, name = _resource(arguments)
    if name is None:
        raise UsageError("say what for: --topic, --group, --transactional-id or --cluster")
    if not arguments.operation or not (arguments.allow or arguments.deny):
        raise UsageError("say who and what: --allow or --deny, and --operation")
    pattern = AclPattern.PREFIXED if arguments.prefix else AclPattern.LITERAL
    permission = AclPermission.ALLOW if arguments.allow else AclPermission.DENY
    who, host = arguments.allow or arguments.deny, arguments.host or "*"
    return [
        Acl(resource, name, pattern, who, host, operation, permission)
        for operation in _operations(arguments)
    ]


def _resource(arguments: argparse.Namespace) -> tuple[int, str | None]:
    if arguments.cluster:
        return AclResource.CLUSTER, _CLUSTER_NAME
    for option, kind in _RESOURCES.items():
        if getattr(arguments, option) is not None:
            return kind, getattr(arguments, option)
    return AclResource.ANY, None


def _operations(arguments: argparse.Namespace) -> list[AclOperation]:
    return [AclOperation[each.upper().replace("-", "_")] for each in arguments.operation]


def rule_row(acl: Acl) -> dict[str, Any]:
    """A rule as it is shown."""
    return {
        "resource": _word(AclResource, acl.resource),
        "name": acl.name,
        "pattern": _word(AclPattern, acl.pattern),
        "permission": _word(AclPermission, acl.permission),
        "principal": acl.principal,
        "host": acl.host,
        "operation": _word(AclOperation, acl.operation),
    }


def _word(kind: type[IntEnum], number: int) -> str:
    return kind(number).name.lower().replace("_", "-") if number in set(kind) else str(number)


def where_served(
    action: Callable[[Admin], Awaitable[Any]],
) -> Callable[[Admin], Awaitable[Any]]:
    """The action, with a sentence for brokers that know no access rules."""

    async def guarded(admin: Admin) -> Any:
        try:
            return await action(admin)
        except UnsupportedByBroker:
            raise OttlaError(
                "this broker has no access rules: whoever reaches it may do everything"
            ) from None

    return guarded

"""kafka-acls: adds, removes and lists the rules of who may do what."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

from ottla.base.errors import ApiError, ConfigError, OttlaError
from ottla.cli.kafka.acl_rules import Rules, acls, filters, grouped, resources, rules
from ottla.cli.kafka.command import BOOTSTRAP_SERVER, COMMAND_CONFIG, run
from ottla.cli.kafka.connect import with_admin
from ottla.cli.kafka.java_names import java_text
from ottla.cli.kafka.options import Command, Failed, Given, Option, UsageError
from ottla.client.administration.access import Access, AclFilter
from ottla.inspection.outcomes import raise_first

_ACTIONS: Final = ("list", "add", "remove")
_WHO: Final = ("allow-host", "allow-principal", "deny-host", "deny-principal")
COMMAND = Command(
    "kafka-acls",
    "Adds, removes and lists the rules of who may do what.",
    (
        BOOTSTRAP_SERVER,
        Option(
            "bootstrap-controller",
            "Controllers to ask in place of brokers; not served.",
            "String: controller to connect to",
        ),
        COMMAND_CONFIG,
        Option("add", "Add rules."),
        Option("remove", "Remove rules."),
        Option("list", "List the rules of the resources, or all of them."),
        Option("topic", "A topic that the rules are about; * is every topic.", "String: topic"),
        Option(
            "group", "A consumer group that the rules are about; * is every group.", "String: group"
        ),
        Option("cluster", "The rules are about the cluster itself."),
        Option(
            "transactional-id",
            "A transactional id that the rules are about.",
            "String: transactional-id",
        ),
        Option(
            "delegation-token",
            "A delegation token that the rules are about.",
            "String: delegation-token",
        ),
        Option("user-principal", "A user that the rules are about.", "String: user-principal"),
        Option(
            "resource-pattern-type",
            "How names are compared: literal, prefixed, and with --list and --remove also any or "
            "match. (default: LITERAL)",
            "ANY|MATCH|LITERAL|PREFIXED",
        ),
        Option(
            "operation", "What is allowed or denied; may be given again. (default: All)", "String"
        ),
        Option(
            "allow-principal",
            "Who is allowed, as User:name; User:* is everybody.",
            "String: allow-principal",
        ),
        Option("deny-principal", "Who is denied, as User:name.", "String: deny-principal"),
        Option(
            "allow-host",
            "From which address. (default: * with --allow-principal)",
            "String: allow-host",
        ),
        Option(
            "deny-host",
            "From which address. (default: * with --deny-principal)",
            "String: deny-host",
        ),
        Option("principal", "With --list: only the rules of this principal.", "String: principal"),
        Option("producer", "What a producer needs: Write, Describe and Create on the topic."),
        Option(
            "consumer", "What a consumer needs: Read and Describe on the topic, Read on the group."
        ),
        Option("idempotent", "With --producer: what an idempotent producer needs of old brokers."),
        Option("force", "Ask no questions."),
    ),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run kafka-acls; the exit code."""
    return run(COMMAND, _execute, argv)


def _execute(given: Given) -> int:
    _check(given)
    try:
        wanted = {} if given.has("list") else rules(given)
        with_admin(Access, given, lambda admin: _act(admin, given, wanted))
        return 0
    except (UsageError, ConfigError):
        raise
    except ApiError as refused:
        print(f"Error while executing ACL command: {java_text(refused)}")
    except OttlaError as failure:
        print(f"Error while executing ACL command: {failure}")
    return 1


async def _act(admin: Access, given: Given, wanted: Rules) -> None:
    if given.has("add"):
        await _add(admin, wanted)
    elif given.has("remove"):
        await _remove(admin, wanted, force=given.has("force"))
    else:
        await _list(admin, given)


def _check(given: Given) -> None:
    if given.has("bootstrap-controller"):
        raise Failed(
            "--bootstrap-controller: brokers answer for everything; use --bootstrap-server"
        )
    if not given.has("bootstrap-server"):
        raise UsageError("One of --bootstrap-server or --bootstrap-controller must be specified")
    if sum(map(given.has, _ACTIONS)) != 1:
        raise UsageError("Command must include exactly one action: --list, --add, --remove. ")
    given.exclude("list", ("producer", "consumer", *_WHO))
    for convenience in ("producer", "consumer"):
        given.exclude(convenience, ("operation", "deny-principal", "deny-host"))
    if given.has("add") and not given.has("allow-principal") and not given.has("deny-principal"):
        raise UsageError(
            "You must specify one of: --allow-principal, --deny-principal when trying to add ACLs."
        )
    _check_conveniences(given)
    pattern = (given.value("resource-pattern-type") or "").upper()
    if given.has("add") and pattern in ("ANY", "MATCH"):
        raise UsageError(
            f"A '--resource-pattern-type' value of '{pattern}' is not valid when adding acls."
        )


def _check_conveniences(given: Given) -> None:
    if given.has("producer") and not given.has("topic"):
        raise UsageError("With --producer you must specify a --topic")
    if given.has("idempotent") and not given.has("producer"):
        raise UsageError("The --idempotent option is only available if --producer is set")
    if given.has("consumer"):
        complete = given.has("topic") and given.has("group")
        alone = given.has("producer") or not (given.has("cluster") or given.has("transactional-id"))
        if not complete or not alone:
            raise UsageError(
                "With --consumer you must specify a --topic and a --group and no --cluster or "
                "--transactional-id option should be specified."
            )


async def _add(admin: Access, wanted: Rules) -> None:
    for resource, entries in wanted.items():
        [which] = filters(resource, [])
        known = set(grouped(await admin.describe_acls(which)).get(resource, ()))
        for entry in entries:
            if entry in known:
                print(f"Acl (pattern={resource}, entry={entry}) already exists.")
        new = [entry for entry in entries if entry not in known]
        if new:
            print(f"Adding ACLs for resource `{resource}`: \n {_lines(new)}\n")
            raise_first(await admin.create_acls(acls(resource, new)))


async def _remove(admin: Access, wanted: Rules, *, force: bool) -> None:
    for resource, entries in wanted.items():
        if entries:
            question = (
                f"Are you sure you want to remove ACLs: \n {_lines(entries)}\n"
                f" from resource filter `{resource}`? (y/n)"
            )
        else:
            question = (
                f"Are you sure you want to delete all ACLs for resource filter `{resource}`? (y/n)"
            )
        if force or _agreed(question):
            for result in (await admin.delete_acls(filters(resource, entries))).values():
                if isinstance(result, ApiError):
                    raise result
                raise_first(result)


async def _list(admin: Access, given: Given) -> None:
    wanted = [which for resource in resources(given) for which in filters(resource, [])] or [
        AclFilter()
    ]
    found = [acl for which in wanted for acl in await admin.describe_acls(which)]
    principals = given.values("principal")
    if not principals:
        _print(grouped(found))
    for principal in principals:
        print(f"ACLs for principal `{principal}`")
        _print(grouped([acl for acl in found if acl.principal == principal]))


def _print(found: Rules) -> None:
    for resource, entries in found.items():
        print(f"Current ACLs for resource `{resource}`:\n{_lines(entries)}\n")


def _lines(entries: Sequence[object]) -> str:
    return "\n".join(f"\t{entry}" for entry in entries)


def _agreed(question: str) -> bool:
    print(question, flush=True)
    return sys.stdin.readline().strip().lower() == "y"

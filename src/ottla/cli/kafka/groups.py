"""kafka-groups: lists groups of every type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ottla.base.errors import ConfigError, OttlaError
from ottla.cli.kafka.command import BOOTSTRAP_SERVER, COMMAND_CONFIG, run
from ottla.cli.kafka.connect import with_admin
from ottla.cli.kafka.java_order import strings_in_order
from ottla.cli.kafka.options import Command, Failed, Given, Option, UsageError
from ottla.client.administration.groups import (
    CLASSIC_TYPE,
    CONSUMER_TYPE,
    GroupListing,
    Groups,
)

_TYPES: Final = {
    "classic": CLASSIC_TYPE,
    "consumer": CONSUMER_TYPE,
    "share": "Share",
    "streams": "Streams",
}
_KINDS: Final = ("consumer", "share", "streams")
_LEAST_WIDTH: Final = 20
COMMAND = Command(
    "kafka-groups",
    "Lists groups of every type.",
    (
        BOOTSTRAP_SERVER,
        COMMAND_CONFIG,
        Option("list", "List the groups."),
        Option(
            "consumer",
            "Only groups of consumers: those of type 'consumer', and those of type 'classic' whose "
            "protocol is 'consumer' or empty.",
        ),
        Option("share", "Only share groups."),
        Option("streams", "Only streams groups."),
        Option(
            "group-type",
            "Only groups of this type: 'classic', 'consumer', 'share' or 'streams'.",
            "String: type",
        ),
        Option("protocol", "Only groups with this protocol.", "String: protocol"),
    ),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run kafka-groups; the exit code."""
    return run(COMMAND, _execute, argv)


def _execute(given: Given) -> int:
    _check(given)
    try:
        with_admin(Groups, given, lambda admin: _list(admin, given))
        return 0
    except ConfigError:  # no client could be made; Kafka tells this on stderr
        raise
    except OttlaError as failure:
        print(f"Error while executing groups command : {failure}")
        return 1


def _check(given: Given) -> None:
    if not given.has("bootstrap-server"):
        raise UsageError("Missing required option(s) [bootstrap-server]")
    if not given.has("list"):
        raise UsageError("Command must include exactly one action: --list.")
    for number, kind in enumerate(_KINDS):
        given.exclude(kind, (*_KINDS[number + 1 :], "group-type", "protocol"))
    if given.has("group-type") and (given.value("group-type") or "").lower() not in _TYPES:
        raise Failed("--group-type must be a valid group type.")


async def _list(admin: Groups, given: Given) -> None:
    found = {each.group_id: each for each in await admin.list_groups()}
    rows = [
        (name, found[name].type.capitalize() or "Unknown", found[name].protocol_type)
        for name in strings_in_order(found)
        if _wanted(found[name], given)
    ]
    width = max([_LEAST_WIDTH, *(len(cell) for row in rows for cell in row)])
    print(" ".join(cell.ljust(width) for cell in ("GROUP", "TYPE", "PROTOCOL")))
    for row in rows:  # Kafka's rows are a blank longer than their heading
        print(" ".join(cell.ljust(width) for cell in row) + " ")


def _wanted(group: GroupListing, given: Given) -> bool:
    kind = group.type.lower()
    if given.has("consumer"):
        return kind == "consumer" or (kind == "classic" and group.protocol_type in ("", "consumer"))
    if given.has("share") or given.has("streams"):
        return given.has(kind)
    if given.has("group-type") and kind != (given.value("group-type") or "").lower():
        return False
    return not given.has("protocol") or group.protocol_type == given.value("protocol")

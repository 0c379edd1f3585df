"""`ottla groups describe`: a group, its members and how far they are."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ottla.cli.connect import add_broker_arguments, ask
from ottla.cli.names import find_group
from ottla.cli.output import add_output_argument, show, show_one
from ottla.inspection.group_progress import Reading, readings

if TYPE_CHECKING:
    from ottla.client.admin import Admin
    from ottla.client.administration.groups import GroupDescription, MemberDescription

EXAMPLES = """examples:
  ottla groups describe billing
  ottla groups describe billing -o json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which group."""
    parser.add_argument("group", metavar="GROUP")
    add_output_argument(parser)
    add_broker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print it: a head, its members, its partitions."""

    async def described(admin: Admin) -> tuple[GroupDescription, list[Reading]]:
        group = await find_group(admin, arguments.group)
        return group, await readings(admin, group)

    group, found = ask(arguments, described)
    head, members = _head(group, found), [_member(each) for each in group.members]
    partitions = [partition_row(each) for each in found]
    if arguments.output == "json":
        show_one({**head, "members": members, "partitions": partitions}, "json")
    elif arguments.output == "table":
        show_one({**head, "members": len(members)}, "table")
        for rows in filter(None, (members, partitions)):
            print()
            show(rows, "table")
    else:
        show(partitions, arguments.output)
    return 0


def _head(group: GroupDescription, found: list[Reading]) -> dict[str, Any]:
    coordinator = group.coordinator
    return {
        "group": group.group_id,
        "type": group.type,
        "state": group.state,
        "assignor": group.assignor or None,
        "coordinator": f"{coordinator.id} ({coordinator.host}:{coordinator.port})",
        "lag": sum(each.lag or 0 for each in found),
    }


def _member(member: MemberDescription) -> dict[str, Any]:
    return {
        "member": member.member_id,
        "client": member.client_id,
        "instance": member.instance_id,
        "host": member.host.lstrip("/"),
        "topics": list(member.subscribed_topics),
        "reads": [str(at) for at in member.assignment],
    }


def partition_row(found: Reading) -> dict[str, Any]:
    """A partition as `describe` and `lag` show it."""
    return {
        "topic": found.at.topic,
        "partition": found.at.partition,
        "committed": found.committed,
        "end": None if found.span is None else found.span.end,
        "lag": found.lag,
        "client": None if found.member is None else found.member.client_id,
    }

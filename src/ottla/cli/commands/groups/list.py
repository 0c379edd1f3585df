"""`ottla groups list`: all groups."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ottla.base.errors import ApiError
from ottla.cli.connect import add_broker_arguments, ask
from ottla.cli.output import add_output_argument, show
from ottla.inspection.group_progress import readings

if TYPE_CHECKING:
    from ottla.client.admin import Admin

EXAMPLES = """examples:
  ottla groups list
  ottla groups list --long
  ottla groups list --state Stable -o json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which groups, and how much of them."""
    parser.add_argument("-l", "--long", action="store_true", help="with members and lag")
    parser.add_argument(
        "--state", action="append", default=[], metavar="STATE", help="only groups in this state"
    )
    add_output_argument(parser)
    add_broker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print them."""

    async def listed(admin: Admin) -> list[dict[str, Any]]:
        groups = await admin.list_groups(states=arguments.state)
        rows: list[dict[str, Any]] = [
            {"group": each.group_id, "type": each.type, "state": each.state} for each in groups
        ]
        return await _with_progress(admin, rows) if arguments.long else rows

    show(ask(arguments, listed), arguments.output, nothing="there are no groups")
    return 0


async def _with_progress(admin: Admin, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    described = await admin.describe_groups([row["group"] for row in rows])
    for row in rows:
        group = described[row["group"]]
        row |= {"members": None, "topics": [], "lag": None}
        if isinstance(group, ApiError):
            continue
        found = await readings(admin, group)
        row["members"] = len(group.members)
        row["topics"] = sorted({each.at.topic for each in found})
        row["lag"] = sum(each.lag or 0 for each in found)
    return rows

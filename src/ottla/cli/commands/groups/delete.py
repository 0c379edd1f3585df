"""`ottla groups delete`: deletes groups with their offsets, after a question on a terminal."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ottla.base.errors import ApiError
from ottla.cli.connect import add_broker_arguments, ask
from ottla.cli.names import find_groups
from ottla.cli.output import Report, add_output_argument
from ottla.cli.parsing import complain
from ottla.cli.questions import add_yes_argument, confirmed
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ottla.client.admin import Admin

EXAMPLES = """examples:
  ottla groups delete billing
  ottla groups delete billing shipping --yes
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which groups."""
    parser.add_argument("groups", nargs="+", metavar="GROUP")
    add_yes_argument(parser)
    add_output_argument(parser)
    add_broker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Delete them; 1 if one was refused."""
    return ask(arguments, lambda admin: _delete(admin, arguments))


async def _delete(admin: Admin, arguments: argparse.Namespace) -> int:
    groups = await find_groups(admin, arguments.groups)
    if not confirmed(arguments, f"delete {', '.join(groups)} with all offsets"):
        return 1
    with Report(arguments.output) as report:
        return await _done(admin, arguments, groups, report)


async def _done(
    admin: Admin, arguments: argparse.Namespace, names: Iterable[str], report: Report
) -> int:
    failed = 0
    for name, result in (await admin.delete_groups(names)).items():
        if isinstance(result, ApiError):
            members = result.code == ErrorCode.NON_EMPTY_GROUP
            hint = f"; `ottla groups describe {name}` shows who is in it" if members else ""
            complain(f"{arguments.parser.prog}: {name}: {result}{hint}")
            failed = 1
        else:
            report.tell(f"deleted group {name}", group=name, deleted=True)
    return failed

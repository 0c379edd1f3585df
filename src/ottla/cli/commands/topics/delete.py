"""`ottla topics delete`: deletes topics, after a question on a terminal."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ottla.base.errors import ApiError
from ottla.cli.connect import add_broker_arguments, ask
from ottla.cli.names import find_topics
from ottla.cli.output import Report, add_output_argument
from ottla.cli.parsing import complain
from ottla.cli.questions import add_yes_argument, confirmed
from ottla.inspection.human_units import counted
from ottla.inspection.sizes import record_counts

if TYPE_CHECKING:
    from ottla.client.admin import Admin

EXAMPLES = """examples:
  ottla topics delete orders
  ottla topics delete orders payments --yes
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which topics."""
    parser.add_argument("topics", nargs="+", metavar="TOPIC")
    add_yes_argument(parser)
    add_output_argument(parser)
    add_broker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Delete them; 1 if one was refused."""
    return ask(arguments, lambda admin: _delete(admin, arguments))


async def _delete(admin: Admin, arguments: argparse.Namespace) -> int:
    topics = await find_topics(admin, arguments.topics)
    if not arguments.yes:
        counts = await record_counts(admin, topics.values())
        names = ", ".join(topics)
        if not confirmed(
            arguments, f"delete {names} with {counted(sum(counts.values()), 'record')}"
        ):
            return 1
    with Report(arguments.output) as report:
        return await _done(admin, arguments, topics, report)


async def _done(
    admin: Admin, arguments: argparse.Namespace, names: Iterable[str], report: Report
) -> int:
    failed = 0
    for name, result in (await admin.delete_topics(names)).items():
        if isinstance(result, ApiError):
            complain(f"{arguments.parser.prog}: {name}: {result}")
            failed = 1
        else:
            report.tell(f"deleted topic {name}", topic=name, deleted=True)
    return failed

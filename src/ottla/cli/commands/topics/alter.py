"""`ottla topics alter`: more partitions, other settings."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ottla.cli.connect import add_broker_arguments, ask, assignments
from ottla.cli.names import find_topic
from ottla.cli.output import Report, add_output_argument
from ottla.cli.parsing import UsageError
from ottla.cli.setting_changes import changes_of, say_changes
from ottla.inspection.outcomes import raise_first

if TYPE_CHECKING:
    from ottla.client.admin import Admin

EXAMPLES = """examples:
  ottla topics alter orders --partitions 12
  ottla topics alter orders --set retention.ms=3600000 --unset cleanup.policy
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What is to change."""
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument(
        "-p", "--partitions", type=int, metavar="N", help="how many it shall have in all"
    )
    parser.add_argument("--set", action="append", default=[], dest="sets", metavar="NAME=VALUE")
    parser.add_argument("--unset", action="append", default=[], dest="unsets", metavar="NAME")
    add_output_argument(parser)
    add_broker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Change it."""
    if arguments.partitions is None and not arguments.sets and not arguments.unsets:
        raise UsageError("say what to change: --partitions, --set or --unset")
    ask(arguments, lambda admin: _alter(admin, arguments))
    return 0


async def _alter(admin: Admin, arguments: argparse.Namespace) -> None:
    name = arguments.topic
    before = await find_topic(admin, name)
    with Report(arguments.output) as report:
        await _change(admin, arguments, len(before.partitions), report)


async def _change(
    admin: Admin, arguments: argparse.Namespace, partitions: int, report: Report
) -> None:
    from ottla.client.administration.configs import ConfigResource, ResourceType
    from ottla.client.administration.topics import NewPartitions

    name = arguments.topic
    if arguments.sets or arguments.unsets:
        resource = ConfigResource(ResourceType.TOPIC, name)
        changes = changes_of(assignments(arguments.sets, "--set"), arguments.unsets)
        raise_first(await admin.alter_configs({resource: changes}))
        say_changes(report, f"topic {name}", changes)
    if arguments.partitions is not None:
        raise_first(await admin.create_partitions({name: NewPartitions(arguments.partitions)}))
        report.tell(
            f"topic {name}: {partitions} -> {arguments.partitions} partitions",
            of=f"topic {name}",
            name="partitions",
            value=str(arguments.partitions),
        )

"""`ottla topics create`: new topics."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ottla.base.errors import ApiError
from ottla.cli.connect import add_broker_arguments, ask, assignments
from ottla.cli.output import Report, add_output_argument
from ottla.cli.parsing import complain
from ottla.inspection.human_units import counted
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ottla.client.admin import Admin
    from ottla.client.administration.base import Outcome
    from ottla.client.administration.topics import CreatedTopic

EXAMPLES = """examples:
  ottla topics create orders
  ottla topics create orders payments --partitions 6 --replicas 3
  ottla topics create prices --config cleanup.policy=compact --if-not-exists
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What they are like."""
    parser.add_argument("topics", nargs="+", metavar="NAME")
    parser.add_argument("-p", "--partitions", type=int, default=-1, metavar="N")
    parser.add_argument("-r", "--replicas", type=int, default=-1, metavar="N")
    parser.add_argument(
        "-c",
        "--config",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of the topic; may be given again",
    )
    parser.add_argument("--if-not-exists", action="store_true", help="leave topics that exist")
    parser.add_argument("--dry-run", action="store_true", help="only ask whether it would work")
    add_output_argument(parser)
    add_broker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Make them; 1 if one of them was refused."""
    from ottla.client.administration.topics import NewTopic

    configs = assignments(arguments.config, "--config")
    wanted = [
        NewTopic(name, arguments.partitions, arguments.replicas, configs=configs)
        for name in dict.fromkeys(arguments.topics)
    ]

    async def create(admin: Admin) -> dict[str, Outcome[CreatedTopic]]:
        return await admin.try_to_create_topics(wanted, validate_only=arguments.dry_run)

    made = ask(arguments, create)
    with Report(arguments.output) as report:
        return max([_tell(arguments, report, *each) for each in made.items()])


def _tell(
    arguments: argparse.Namespace, report: Report, name: str, made: Outcome[CreatedTopic]
) -> int:
    if not isinstance(made, ApiError):
        done = "would create" if arguments.dry_run else "created"
        parts = counted(made.partitions, "partition")
        report.tell(
            f"{done} topic {name} ({parts}, replication factor {made.replication_factor})",
            topic=name,
            created=not arguments.dry_run,
            partitions=made.partitions,
            replicas=made.replication_factor,
        )
        return 0
    if made.code == ErrorCode.TOPIC_ALREADY_EXISTS and arguments.if_not_exists:
        report.tell(
            f"topic {name} exists", topic=name, created=False, partitions=None, replicas=None
        )
        return 0
    complain(f"{arguments.parser.prog}: {name}: {made}")
    return 1

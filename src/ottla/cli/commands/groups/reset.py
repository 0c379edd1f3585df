"""`ottla groups reset`: moves the offsets of a group; shows what it would do until told to."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ottla.base.errors import OttlaError
from ottla.base.ids import TopicPartition
from ottla.cli.connect import add_broker_arguments, ask
from ottla.cli.names import chosen_partitions, find_topic, partition_numbers
from ottla.cli.offset_moves import apply_moves, show_moves
from ottla.cli.output import add_output_argument
from ottla.cli.parsing import complain
from ottla.cli.time_arguments import duration_ms, moment_ms
from ottla.inspection.offset_moves import (
    Goal,
    committed_offsets,
    goal_offsets,
    mover_id,
    refuse_members,
)

if TYPE_CHECKING:
    from ottla.client.admin import Admin

EXAMPLES = """examples:
  ottla groups reset billing --topic orders --to-earliest
  ottla groups reset billing --topic orders:0,1 --to-offset 1200 --execute
  ottla groups reset billing --all-topics --to-time 2026-01-31T12:00:00 --execute
  ottla groups reset billing --all-topics --back 1h --execute
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Whose offsets, of what, and where to."""
    parser.add_argument("group", metavar="GROUP")
    scope = parser.add_mutually_exclusive_group(required=True)
    scope.add_argument(
        "-t",
        "--topic",
        action="append",
        metavar="TOPIC[:0,1]",
        help="a topic, or some of its partitions; may be given again",
    )
    scope.add_argument("--all-topics", action="store_true", help="all that has offsets")
    goal = parser.add_mutually_exclusive_group(required=True)
    goal.add_argument("--to-earliest", action="store_true", help="to the first record")
    goal.add_argument("--to-latest", action="store_true", help="behind the last record")
    goal.add_argument("--to-offset", type=int, metavar="N")
    goal.add_argument("--to-time", type=moment_ms, metavar="TIME", help="as 2026-01-31T12:00:00")
    goal.add_argument("--back", type=duration_ms, metavar="TIME", help="to what came 1h ago")
    goal.add_argument("--shift-by", type=int, metavar="N", help="so many further, or back")
    parser.add_argument("--execute", action="store_true", help="do it")
    add_output_argument(parser)
    add_broker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Show where each partition goes, and with --execute move it."""
    return ask(arguments, lambda admin: _reset(admin, arguments), client_id=mover_id("reset"))


async def _reset(admin: Admin, arguments: argparse.Namespace) -> int:
    group = arguments.group
    await refuse_members(admin, group)
    before = await committed_offsets(admin, group)
    partitions = await _scope(admin, arguments, before)
    after = await goal_offsets(admin, _goal(arguments), partitions, before)
    moves = {at: (before.get(at, -1), after[at]) for at in sorted(after)}
    show_moves(moves, arguments.output)
    if not arguments.execute:
        complain("nothing is changed yet: add --execute to do it")
        return 0
    return await apply_moves(admin, group, moves)


async def _scope(
    admin: Admin, arguments: argparse.Namespace, before: Mapping[TopicPartition, int]
) -> list[TopicPartition]:
    if arguments.all_topics:
        if not before:
            raise OttlaError(
                f"group {arguments.group} has committed nothing; name topics with --topic"
            )
        return list(before)
    found: list[TopicPartition] = []
    for text in arguments.topic:
        name, colon, numbers = text.partition(":")
        try:
            wanted = partition_numbers(numbers) if colon else None
        except ValueError:
            raise OttlaError(f"--topic {text}: write partitions as {name}:0,1") from None
        found += chosen_partitions(await find_topic(admin, name), wanted)
    return found


def _goal(arguments: argparse.Namespace) -> Goal:
    moment = arguments.to_time
    if arguments.back is not None:
        moment = round(time.time() * 1000) - arguments.back
    return Goal(
        arguments.to_earliest,
        arguments.to_latest,
        arguments.to_offset,
        moment,
        arguments.shift_by,
    )

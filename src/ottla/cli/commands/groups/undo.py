"""`ottla groups undo`: puts a group's offsets back where they were before they were last moved."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ottla.base.errors import OttlaError
from ottla.cli.connect import add_broker_arguments, ask
from ottla.cli.names import history_of
from ottla.cli.offset_moves import apply_moves, show_moves
from ottla.cli.output import add_output_argument
from ottla.cli.parsing import complain
from ottla.inspection.group_history import last_move, moves_of
from ottla.inspection.human_units import iso
from ottla.inspection.offset_moves import committed_offsets, mover_id, refuse_members

if TYPE_CHECKING:
    from ottla.client.admin import Admin

EXAMPLES = """examples:
  ottla groups undo billing --dry-run
  ottla groups undo billing
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which group."""
    parser.add_argument("group", metavar="GROUP")
    parser.add_argument("--dry-run", action="store_true", help="only show what it would do")
    add_output_argument(parser)
    add_broker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Show where offsets go back to, and put them there: that, too, can be undone."""
    return ask(arguments, lambda admin: _undo(admin, arguments), client_id=mover_id("undo"))


async def _undo(admin: Admin, arguments: argparse.Namespace) -> int:
    group = arguments.group
    last = last_move(await history_of(admin, group))
    if last is None:
        raise OttlaError(f"nobody has moved the offsets of group {group} lately: nothing to undo")
    await refuse_members(admin, group)
    now = await committed_offsets(admin, group)
    moves = {at: (now.get(at, -1), before) for at, (before, _) in sorted(moves_of(last).items())}
    who = last.client_id or last.member_id or "somebody"
    complain(f"at {iso(last.last_ms)} {who} moved these offsets ({last.action}):")
    show_moves(moves, arguments.output)
    if arguments.dry_run:
        return 0
    return await apply_moves(admin, group, moves)

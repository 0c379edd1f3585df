"""`ottla groups undo`: puts a group's offsets back where they were before they were last moved."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ottla.base.errors import OttlaError
from ottla.cli.connect import add_broker_arguments, ask
from ottla.cli.group_history import group_history, moves_of
from ottla.cli.moments import iso
from ottla.cli.offset_moves import (
    MOVER,
    apply_moves,
    committed_offsets,
    mover_id,
    refuse_members,
    show_moves,
)
from ottla.cli.output import add_output_argument
from ottla.cli.parsing import complain

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
    history = await group_history(admin, group)
    # What only went forward is what consumers do all day, unless one of these commands did it.
    moved = [
        each
        for each in history.commits
        if not each.only_forward or each.client_id.startswith(MOVER)
    ]
    if not moved:
        raise OttlaError(f"nobody has moved the offsets of group {group} lately: nothing to undo")
    await refuse_members(admin, group)
    now = await committed_offsets(admin, group)
    last = moved[-1]
    moves = {at: (now.get(at, -1), before) for at, (before, _) in sorted(moves_of(last).items())}
    who = last.client_id or last.member_id or "somebody"
    complain(f"at {iso(last.last_ms)} {who} moved these offsets ({last.action}):")
    show_moves(moves, arguments.output)
    if arguments.dry_run:
        return 0
    return await apply_moves(admin, group, moves)

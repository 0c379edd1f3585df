"""Moves of a group's offsets: shown, done, and told how to take back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.cli.output import show
from ottla.cli.parsing import complain
from ottla.inspection.human_units import counted
from ottla.inspection.offset_moves import NONE, Moves, commit_moves

if TYPE_CHECKING:
    from ottla.client.admin import Admin


def show_moves(moves: Moves, output: str) -> None:
    """Print them."""
    rows = [
        {
            "topic": at.topic,
            "partition": at.partition,
            "before": None if before == NONE else before,
            "after": None if after == NONE else after,
            "change": after - before if NONE not in (before, after) else None,
        }
        for at, (before, after) in moves.items()
    ]
    show(rows, output, nothing="there is nothing to move")


async def apply_moves(admin: Admin, group: str, moves: Moves) -> int:
    """Commit the new offsets, delete those that become none."""
    changed = await commit_moves(admin, group, moves)
    if not changed:
        complain(f"group {group} is there already: nothing is changed")
        return 0
    complain(
        f"moved {counted(changed, 'offset')} of group {group}; `ottla groups undo {group}` undoes it"
    )
    return 0

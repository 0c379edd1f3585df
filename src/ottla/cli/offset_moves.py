"""Moves of a group's offsets: shown, done, and told how to take back."""

from __future__ import annotations

from collections.abc import Mapping
from secrets import token_hex
from typing import TYPE_CHECKING, Final, TypeAlias

from ottla.base.errors import ApiError, OttlaError
from ottla.base.ids import TopicPartition
from ottla.cli.connect import raise_first
from ottla.cli.moments import counted
from ottla.cli.output import show
from ottla.cli.parsing import complain
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ottla.client.admin import Admin

Moves: TypeAlias = Mapping[TopicPartition, tuple[int, int]]
"""Where each partition's offset is, and where it goes; -1 stands for none."""

NONE: Final = -1
MOVER: Final = "ottla-groups"
"""How the client ids of commands that move offsets begin: what they did can be told from reading on."""


def mover_id(verb: str) -> str:
    """A client id of its own for each run, so that the history keeps each act apart."""
    return f"{MOVER}-{verb}-{token_hex(3)}"


async def committed_offsets(admin: Admin, group: str) -> dict[TopicPartition, int]:
    """What a group has committed."""
    found = await admin.list_group_offsets(group)
    raise_first(found)
    return {
        at: each.offset
        for at, each in found.items()
        if not isinstance(each, ApiError) and each.offset >= 0
    }


async def refuse_members(admin: Admin, group: str) -> None:
    """Offsets can only be moved while nobody reads; a group that does not exist is empty, too."""
    found = (await admin.describe_groups([group]))[group]
    if isinstance(found, ApiError):
        if found.code != ErrorCode.GROUP_ID_NOT_FOUND:
            raise found
    elif found.members:
        who = ", ".join(sorted({member.client_id for member in found.members}))
        raise OttlaError(
            f"group {group} has {counted(len(found.members), 'member')} ({who}); stop them first, since they "
            "would commit over it"
        )


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
    changed = {at: move for at, move in moves.items() if move[0] != move[1]}
    if not changed:
        complain(f"group {group} is there already: nothing is changed")
        return 0
    from ottla.client.administration.group_offsets import CommittedOffset

    new = {at: CommittedOffset(after) for at, (_, after) in changed.items() if after != NONE}
    gone = [at for at, (_, after) in changed.items() if after == NONE]
    if new:
        raise_first(await admin.alter_group_offsets(group, new))
    if gone:
        raise_first(await admin.delete_group_offsets(group, gone))
    complain(
        f"moved {counted(len(changed), 'offset')} of group {group}; `ottla groups undo {group}` undoes it"
    )
    return 0

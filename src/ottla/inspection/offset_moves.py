"""Moves of a group's offsets: where they go, whether they may go there, and how they are committed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from secrets import token_hex
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from ottla.base.errors import ApiError, OttlaError
from ottla.base.ids import TopicPartition
from ottla.client.administration.group_offsets import CommittedOffset
from ottla.inspection.group_history import MOVER
from ottla.inspection.human_units import counted
from ottla.inspection.outcomes import raise_first
from ottla.inspection.sizes import Span, spans
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ottla.client.admin import Admin

Moves: TypeAlias = Mapping[TopicPartition, tuple[int, int]]
"""Where each partition's offset is, and where it goes; -1 stands for none."""

NONE: Final = -1


class GroupInUse(OttlaError):
    """Offsets can only be moved while nobody reads."""


class CannotMove(OttlaError):
    """A partition whose offset has nowhere to go."""


class Goal(NamedTuple):
    """Where offsets go; exactly one of these is given."""

    earliest: bool = False
    latest: bool = False
    offset: int | None = None
    time_ms: int | None = None
    shift_by: int | None = None


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
    """Raise GroupInUse if the group has members; a group that does not exist is empty, too."""
    found = (await admin.describe_groups([group]))[group]
    if isinstance(found, ApiError):
        if found.code != ErrorCode.GROUP_ID_NOT_FOUND:
            raise found
    elif found.members:
        who = ", ".join(sorted({member.client_id for member in found.members}))
        raise GroupInUse(
            f"group {group} has {counted(len(found.members), 'member')} ({who}); stop them first, since they "
            "would commit over it"
        )


async def goal_offsets(
    admin: Admin,
    goal: Goal,
    partitions: Iterable[TopicPartition],
    before: Mapping[TopicPartition, int],
) -> dict[TopicPartition, int]:
    """The new offsets, within what each partition holds."""
    wanted = list(partitions)
    held = await spans(admin, wanted)
    for at in wanted:
        if at not in held:
            raise CannotMove(f"nobody leads {at} at present; `ottla cluster status` tells more")
    if goal.earliest:
        return {at: span.begin for at, span in held.items()}
    if goal.latest:
        return {at: span.end for at, span in held.items()}
    if goal.time_ms is not None:
        times = await _at_time(admin, held, goal.time_ms)
        return {at: held[at].end if each < 0 else each for at, each in times.items()}
    if goal.shift_by is not None:
        aims = _shifted(held, before, goal.shift_by)
    else:
        aims = dict.fromkeys(held, goal.offset or 0)
    return within(held, aims)


def within(
    held: Mapping[TopicPartition, Span], aims: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """The offsets nearest to those wanted that the partitions hold."""
    return {at: min(max(each, held[at].begin), held[at].end) for at, each in aims.items()}


async def commit_moves(admin: Admin, group: str, moves: Moves) -> int:
    """Commit the new offsets, delete those that become none; how many changed."""
    changed = {at: move for at, move in moves.items() if move[0] != move[1]}
    new = {at: CommittedOffset(after) for at, (_, after) in changed.items() if after != NONE}
    gone = [at for at, (_, after) in changed.items() if after == NONE]
    if new:
        raise_first(await admin.alter_group_offsets(group, new))
    if gone:
        raise_first(await admin.delete_group_offsets(group, gone))
    return len(changed)


def _shifted(
    partitions: Iterable[TopicPartition], before: Mapping[TopicPartition, int], by: int
) -> dict[TopicPartition, int]:
    for at in partitions:
        if at not in before:
            raise CannotMove(f"the group has committed nothing for {at} that could be shifted")
    return {at: before[at] + by for at in partitions}


async def _at_time(
    admin: Admin, partitions: Iterable[TopicPartition], moment: int
) -> dict[TopicPartition, int]:
    found = await admin.list_offsets(dict.fromkeys(partitions, moment))
    raise_first(found)
    return {at: each.offset for at, each in found.items() if not isinstance(each, ApiError)}

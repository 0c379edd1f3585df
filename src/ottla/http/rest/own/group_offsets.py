"""Offsets of groups: read, moved with a preview, taken back; and the deletion of groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.http.rest.own.declare import GROUP, route
from ottla.http.rest.own.places import time_of
from ottla.http.server.call import Call
from ottla.http.server.errors import UNKNOWN, HttpError
from ottla.inspection.group_history import group_history, last_move, moves_of
from ottla.inspection.group_progress import readings
from ottla.inspection.offset_moves import (
    NONE,
    Goal,
    GroupInUse,
    Moves,
    commit_moves,
    committed_offsets,
    goal_offsets,
    mover_id,
    refuse_members,
)
from ottla.inspection.outcomes import raise_first

Number = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
Offset = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
TAG: Final = "Consumer group"


class GroupOffset(msgspec.Struct):
    """Where a group is in a partition; null where nothing is known."""

    topic_name: str
    partition_id: int
    current_offset: int | None
    log_start_offset: int | None
    log_end_offset: int | None
    lag: int | None
    consumer_id: str | None
    client_id: str | None


class GroupOffsetList(msgspec.Struct):
    """Where a group is."""

    data: list[GroupOffset]


class TopicScope(msgspec.Struct):
    """A topic, or some of its partitions."""

    topic_name: str
    partition_ids: list[Number] | None = None


class ExactOffset(msgspec.Struct):
    """An offset for one partition."""

    topic_name: str
    partition_id: Number
    offset: Offset


class ResetRequest(msgspec.Struct):
    """Which offsets move, and where to: exactly one of to_earliest ... offsets is given."""

    topics: list[TopicScope] | None = None
    all_topics: bool = False
    to_earliest: bool = False
    to_latest: bool = False
    to_offset: Offset | None = None
    to_time: str | None = None
    shift_by: Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)] | None = None
    offsets: list[ExactOffset] | None = None
    dry_run: bool = True


class UndoRequest(msgspec.Struct):
    """Whether it is only shown."""

    dry_run: bool = True


class OffsetMove(msgspec.Struct):
    """Where an offset is, and where it goes."""

    topic_name: str
    partition_id: int
    before: int | None
    after: int | None


class ResetResponse(msgspec.Struct):
    """What moved, or with dry_run would move."""

    dry_run: bool
    changed: int
    moves: list[OffsetMove]


class HistoryEntry(msgspec.Struct):
    """Something that became of a group or its offsets."""

    time_ms: int
    what: str
    who: str
    detail: str
    moves: list[OffsetMove] = []


class HistoryResponse(msgspec.Struct):
    """What became of a group lately, oldest first."""

    data: list[HistoryEntry]


async def list_offsets(call: Call) -> GroupOffsetList:
    """Return where a group is in each partition."""
    admin, name = await call.admin(), call.path["consumer_group_id"]
    group = (await admin.describe_groups([name]))[name]
    if isinstance(group, ApiError):
        raise group
    return GroupOffsetList(
        [
            GroupOffset(
                each.at.topic,
                each.at.partition,
                each.committed,
                each.span.begin if each.span else None,
                each.span.end if each.span else None,
                each.lag,
                each.member.member_id if each.member else None,
                each.member.client_id if each.member else None,
            )
            for each in await readings(admin, group)
        ]
    )


async def reset_offsets(call: Call) -> ResetResponse:
    """Move the offsets of a group that has no members; shows what it would do unless dry_run is false."""
    wanted: ResetRequest = await call.body()
    name = call.path["consumer_group_id"]
    goals = (wanted.to_earliest, wanted.to_latest, wanted.to_offset is not None, bool(wanted.to_time),
             wanted.shift_by is not None, wanted.offsets is not None)  # fmt: skip
    if sum(goals) != 1:
        raise HttpError(
            422,
            "give one of to_earliest, to_latest, to_offset, to_time, shift_by and offsets",
            code=422,
        )
    link = await call.link()
    async with link.acting_admin(call.caller, mover_id("rest-reset")) as admin:
        await _refuse_members(admin, name)
        before = await committed_offsets(admin, name)
        if wanted.offsets is not None:
            after = await _exact(admin, wanted.offsets)
        else:
            partitions = await _scope(admin, wanted, before)
            after = await goal_offsets(admin, _goal(wanted), partitions, before)
        moves = {at: (before.get(at, NONE), after[at]) for at in sorted(after)}
        return await _moved(admin, name, moves, dry_run=wanted.dry_run)


async def undo(call: Call) -> ResetResponse:
    """Put offsets back where they were before they were last moved; shows it unless dry_run is false."""
    wanted: UndoRequest = await call.body() or UndoRequest()
    name, link = call.path["consumer_group_id"], await call.link()
    async with link.acting_admin(call.caller, mover_id("rest-undo")) as admin:
        last = last_move(await group_history(admin, name))
        if last is None:
            raise HttpError(409, f"nobody has moved the offsets of group {name} lately", code=409)
        await _refuse_members(admin, name)
        now = await committed_offsets(admin, name)
        moves = {at: (now.get(at, NONE), old) for at, (old, _) in sorted(moves_of(last).items())}
        return await _moved(admin, name, moves, dry_run=wanted.dry_run)


async def history(call: Call) -> HistoryResponse:
    """Return what became of a group and its offsets lately."""
    found = await group_history(await call.admin(), call.path["consumer_group_id"])
    entries = [
        HistoryEntry(
            each.last_ms,
            each.action if each.only_forward else f"{each.action}, moved back",
            each.client_id or each.member_id,
            f"{each.count} times" if each.count > 1 else "",
            _shown(moves_of(each)),
        )
        for each in found.commits
    ]
    entries += [
        HistoryEntry(each.timestamp_ms, each.what, each.member_id, each.detail)
        for each in found.events
    ]
    entries += [
        HistoryEntry(
            each.timestamp_ms,
            "assigned",
            ", ".join(sorted({owner.client_id for owner in each.owners})),
            f"generation {each.generation}",
        )
        for each in found.generations
    ]
    return HistoryResponse(sorted(entries, key=lambda entry: entry.time_ms))


async def delete_group(call: Call) -> None:
    """Delete a group that has no members, with its offsets."""
    raise_first(await (await call.admin()).delete_groups([call.path["consumer_group_id"]]))


async def _refuse_members(admin: Any, name: str) -> None:
    try:
        await refuse_members(admin, name)
    except GroupInUse as refusal:
        raise HttpError(409, str(refusal), code=409) from None


async def _scope(
    admin: Any, wanted: ResetRequest, before: Mapping[TopicPartition, int]
) -> list[TopicPartition]:
    if wanted.all_topics is bool(wanted.topics):
        raise HttpError(422, "give either topics or all_topics", code=422)
    if wanted.all_topics:
        if not before:
            raise HttpError(409, "the group has committed nothing; name topics", code=409)
        return list(before)
    found: list[TopicPartition] = []
    scopes = wanted.topics or []
    topics = await admin.describe_topics([each.topic_name for each in scopes])
    raise_first(topics)
    for each in scopes:
        there = [partition.index for partition in topics[each.topic_name].partitions]
        for number in there if each.partition_ids is None else each.partition_ids:
            if number not in there:
                raise HttpError(
                    404, f"topic {each.topic_name} has no partition {number}", code=UNKNOWN
                )
            found.append(TopicPartition(each.topic_name, number))
    return list(dict.fromkeys(found))


def _goal(wanted: ResetRequest) -> Goal:
    moment = None if wanted.to_time is None else time_of(wanted.to_time, "to_time")
    return Goal(wanted.to_earliest, wanted.to_latest, wanted.to_offset, moment, wanted.shift_by)


async def _exact(admin: Any, wanted: list[ExactOffset]) -> dict[TopicPartition, int]:
    found = {}
    for each in wanted:
        at = TopicPartition(each.topic_name, each.partition_id)
        [(_, offset)] = (await goal_offsets(admin, Goal(offset=each.offset), [at], {})).items()
        found[at] = offset
    return found


async def _moved(admin: Any, name: str, moves: Moves, *, dry_run: bool) -> ResetResponse:
    changed = sum(before != after for before, after in moves.values())
    if not dry_run:
        changed = await commit_moves(admin, name, moves)
    return ResetResponse(dry_run, changed, _shown(moves))


def _shown(moves: Moves) -> list[OffsetMove]:
    return [
        OffsetMove(
            at.topic,
            at.partition,
            None if before == NONE else before,
            None if after == NONE else after,
        )
        for at, (before, after) in sorted(moves.items())
    ]


ROUTES: Final = (
    route("GET", f"{GROUP}/offsets", list_offsets, "List the offsets of a group", TAG, answer=GroupOffsetList),
    route("POST", f"{GROUP}/offsets:reset", reset_offsets, "Move the offsets of a group", TAG,
          body=ResetRequest, answer=ResetResponse),
    route("POST", f"{GROUP}/offsets:undo", undo, "Undo the last move of offsets", TAG,
          body=UndoRequest, answer=ResetResponse, optional_body=True),
    route("GET", f"{GROUP}/history", history, "Get the history of a group", TAG, answer=HistoryResponse),
    route("DELETE", GROUP, delete_group, "Delete a group", TAG),
)  # fmt: skip

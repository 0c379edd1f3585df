"""Pure: how a member of a consumer group gets from what it owns to what it shall own (KIP-848).

A member first gives up what it shall not own any more, and says so; only then does it enter the epoch of the target
assignment and get what is free. What others have not given up is withheld, so that a partition never has two owners.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple
from uuid import UUID

from ottla.base.errors import ApiError
from ottla.coordination.groups.consumer_member import (
    NOTHING,
    Member,
    MemberState,
    Owned,
    Partitions,
)
from ottla.protocol.errors import ErrorCode


class Aim(NamedTuple):
    """What a member is to be brought to, and what the rest of the group allows."""

    epoch: int
    target: Partitions
    subscribed: Collection[UUID]
    # What anybody owns, or has yet to give up.
    owners: Mapping[UUID, Mapping[int, str]]
    # What the member says that it owns; None if it did not say.
    claimed: Mapping[UUID, Collection[int]] | None
    subscription_changed: bool = False


class _Difference(NamedTuple):
    kept: dict[UUID, Mapping[int, int]]
    revoked: dict[UUID, Mapping[int, int]]
    free: dict[UUID, frozenset[int]]
    withheld: bool


def reconcile(member: Member, aim: Aim) -> Member:
    """The member one step further; the same object if there is nothing to do."""
    if member.state is MemberState.STABLE:
        if member.epoch != aim.epoch:
            return _advance(member, aim)
        return _obey_subscription(member, aim) if aim.subscription_changed else member
    if member.state is MemberState.UNREVOKED_PARTITIONS:
        if not _claims_any(member.pending_revocation, aim):
            return _advance(member, aim)
        return _obey_subscription(member, aim) if aim.subscription_changed else member
    if member.state is MemberState.UNKNOWN and (aim.claimed is None or aim.claimed):
        raise ApiError(
            ErrorCode.FENCED_MEMBER_EPOCH,
            "the member is in an unknown state; it must abandon all its partitions and rejoin",
        )
    return _advance(member, aim)


def _advance(member: Member, aim: Aim) -> Member:
    if not member.assigned and not member.pending_revocation:
        return _begin(member, aim)
    kept, revoked, free, withheld = _difference(member, aim)
    if revoked and _claims_any(revoked, aim):
        return member._replace(
            state=MemberState.UNREVOKED_PARTITIONS,
            previous_epoch=member.epoch,
            assigned=kept,
            pending_revocation=revoked,
        )
    assigned = dict(kept)
    for topic_id, partitions in free.items():
        since = dict(kept.get(topic_id, {})) | dict.fromkeys(partitions, aim.epoch)
        assigned[topic_id] = dict(sorted(since.items()))
    state = MemberState.UNRELEASED_PARTITIONS if withheld else MemberState.STABLE
    after = member.moved(aim.epoch, member.epoch, state, assigned, NOTHING)
    return member if after == member else after


def _begin(member: Member, aim: Aim) -> Member:
    """The same for one that owns nothing, and so has nothing to keep or to give up: it gets what is free."""
    assigned: dict[UUID, Mapping[int, int]] = {}
    state = MemberState.STABLE
    for topic_id, target in aim.target.items():
        if topic_id not in aim.subscribed:
            continue
        free = target.difference(aim.owners.get(topic_id, ()))
        if len(free) < len(target):
            state = MemberState.UNRELEASED_PARTITIONS
        if free:
            assigned[topic_id] = dict.fromkeys(sorted(free), aim.epoch)
    after = member.moved(aim.epoch, member.epoch, state, assigned, NOTHING)
    return member if after == member else after


def _difference(member: Member, aim: Aim) -> _Difference:
    kept: dict[UUID, Mapping[int, int]] = {}
    revoked: dict[UUID, Mapping[int, int]] = {}
    free: dict[UUID, frozenset[int]] = {}
    withheld = False
    for topic_id in dict.fromkeys((*aim.target, *member.assigned)):
        target = (
            aim.target.get(topic_id, frozenset()) if topic_id in aim.subscribed else frozenset()
        )
        owned = member.assigned.get(topic_id, {})
        stays = {p: epoch for p, epoch in owned.items() if p in target}
        goes = {p: epoch for p, epoch in owned.items() if p not in target}
        wanted = target.difference(stays)
        taken = {p for p in wanted if _is_taken(member, aim, topic_id, p)}
        withheld = withheld or bool(taken)
        if stays:
            kept[topic_id] = stays
        if goes:
            revoked[topic_id] = goes
        if wanted - taken:
            free[topic_id] = wanted - taken
    return _Difference(kept, revoked, free, withheld)


def _is_taken(member: Member, aim: Aim, topic_id: UUID, partition: int) -> bool:
    """Whether somebody else still owns it; what the member itself was about to give up is its own."""
    own = member.pending_revocation.get(topic_id, {})
    return partition not in own and partition in aim.owners.get(topic_id, {})


def _obey_subscription(member: Member, aim: Aim) -> Member:
    """Topics that the member has just unsubscribed from go at once, before there is a new target assignment."""
    kept: dict[UUID, Mapping[int, int]] = {}
    revoked = dict(member.pending_revocation)
    for topic_id, partitions in member.assigned.items():
        if topic_id in aim.subscribed:
            kept[topic_id] = partitions
        else:
            revoked[topic_id] = {**revoked.get(topic_id, {}), **partitions}
    if len(kept) == len(member.assigned):
        return member
    if revoked and _claims_any(revoked, aim):
        return member._replace(
            state=MemberState.UNREVOKED_PARTITIONS,
            previous_epoch=member.epoch,
            assigned=kept,
            pending_revocation=revoked,
        )
    return member._replace(previous_epoch=member.epoch, assigned=kept)


def _claims_any(partitions: Owned, aim: Aim) -> bool:
    """Whether the member says, or may be, that it owns any of these."""
    if aim.claimed is None:
        return True
    return any(
        not partitions.get(topic_id, {}).keys().isdisjoint(claimed)
        for topic_id, claimed in aim.claimed.items()
    )

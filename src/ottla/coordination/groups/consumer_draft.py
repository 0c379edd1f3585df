"""Pure: a change of a consumer group in the making: the records of one request, step by step.

Nothing of the group changes meanwhile; each step sees what the steps before it have decided.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from ottla.base.errors import ApiError
from ottla.coordination.decision import KeyValue
from ottla.coordination.groups.assignors.spec import MemberSpec
from ottla.coordination.groups.assignors.table import ASSIGNORS
from ottla.coordination.groups.consumer_member import (
    JOIN_EPOCH,
    STATIC_LEAVE_EPOCH,
    Member,
    Partitions,
    target_record,
)
from ottla.coordination.groups.consumer_records import (
    MEMBER_KINDS,
    Kind,
    epoch_record,
    tombstone,
)
from ottla.coordination.groups.reconciliation import Aim, reconcile
from ottla.coordination.groups.subscription import (
    Resolved,
    compile_pattern,
    ids_of,
    metadata_hash,
    topics_of,
)
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ottla.coordination.groups.consumer import ConsumerGroup


class Draft:
    """What a request makes of a group."""

    __slots__ = (
        "_assignment_epoch", "_changed", "_ids_by_names", "_resolved", "_taken_over", "_takes", "_targets", "epoch",
        "group", "now_ms", "records",
    )  # fmt: skip

    def __init__(self, group: ConsumerGroup, now_ms: int) -> None:
        self.group = group
        self.now_ms = now_ms
        self.records: list[KeyValue] = []
        # What replaying each of them comes to: it need not be read again.
        self._takes: list[Callable[[], None]] = []
        # Who is new or another, and who is gone: None. All the others are as in the group.
        self._changed: dict[str, Member | None] = {}
        # A static member that came back, and the id of its former self.
        self._taken_over: tuple[str, str] | None = None
        self.epoch = group.epoch
        self._resolved: Mapping[str, Resolved] = group.resolved
        self._assignment_epoch = group.assignment_epoch
        self._targets: Mapping[str, Partitions] = group.target
        self._ids_by_names: dict[frozenset[str], frozenset[UUID]] = {}

    def replay(self) -> None:
        """The records are in the log: the group is as they say."""
        for take in self._takes:
            take()

    def _say(self, written: KeyValue, take: Callable[[], None]) -> None:
        self.records.append(written)
        self._takes.append(take)

    def _erase(self, kind: Kind, name: str) -> None:
        group = self.group
        self._say(tombstone(kind, group.group_id, name), partial(group.replay, kind, name, None))

    # --------------------------------------------------------------------------- member

    def take_over(self, former: Member, member_id: str) -> Member:
        """A static member comes back under a new id: it gets the place, the target and the partitions it had."""
        member = former._replace(member_id=member_id, epoch=JOIN_EPOCH, previous_epoch=JOIN_EPOCH)
        target = self.group.target_for(former)
        self._erase_member(former.member_id)
        self._say_subscription(member)
        self._say_target(member_id, target)
        self._say_current(member)
        targets = {m: t for m, t in self._targets.items() if m != former.member_id}
        self._targets = targets | {member_id: target}
        self._changed[former.member_id] = None
        self._changed[member_id] = member
        self._taken_over = member_id, former.member_id
        return member

    @property
    def takes_over(self) -> bool:
        """Whether a static member has come back."""
        return self._taken_over is not None

    def _erase_member(self, member_id: str) -> None:
        for kind in MEMBER_KINDS:
            self._erase(kind, member_id)

    def _say_subscription(self, member: Member) -> None:
        written = member.subscription_record(self.group.group_id)
        self._say(written, partial(self.group.place_member, member))

    def _say_target(self, member_id: str, target: Partitions) -> None:
        written = target_record(self.group.group_id, member_id, target)
        self._say(written, partial(self.group.place_target, member_id, target))

    def _say_current(self, member: Member) -> None:
        written = member.current_record(self.group.group_id)
        self._say(written, partial(self.group.place_current, member))

    def replaced(self) -> None:
        """Nothing is expected of a former self any more; to be said when the request can no longer be refused.

        Were it refused afterwards, nobody would ever take the partitions of the former self, which has no deadline.
        """
        if self._taken_over is None:
            return
        group, (member_id, former) = self.group, self._taken_over
        group.cancel_timers(former)
        group.history.note(group.group_id, self.now_ms, "replaced", member_id, f"was {former}")

    def introduce(self, before: Member, after: Member) -> bool:
        """A member says of itself what `after` says; whether its subscription is another than before."""
        if after is not before and after != before:
            self._say_subscription(after)
        self._changed[after.member_id] = after
        former, pattern = before.pattern or "", after.pattern or ""
        if former != pattern:
            self._exchange_pattern(former, pattern)
        return before.topics != after.topics or former != pattern

    def _exchange_pattern(self, former: str, pattern: str) -> None:
        resolved = dict(self._resolved)
        if former and self.group.users_of(former) == 1:
            resolved.pop(former, None)
            self._erase(Kind.PATTERN, former)
        if pattern and pattern not in resolved:
            self._match(pattern, resolved)
        self._resolved = resolved

    def _match(self, pattern: str, resolved: dict[str, Resolved]) -> bool:
        """Find the topics of a pattern; whether they are others than before."""
        found = compile_pattern(pattern).matching(self.group.image.topics)
        before = resolved.get(pattern)
        if before is not None and before.topics == found:
            return False
        now = resolved[pattern] = Resolved(found, self.now_ms)
        written = now.record(self.group.group_id, pattern)
        self._say(written, partial(self.group.place_pattern, pattern, now))
        return True

    def remove(self, members: Collection[Member]) -> None:
        """Members are out, and with them the patterns that nobody else uses."""
        for member in members:
            self._changed[member.member_id] = None
            self._erase_member(member.member_id)
        used = {member.pattern for member in self.members().values()}
        for pattern in [pattern for pattern in self._resolved if pattern not in used]:
            self._erase(Kind.PATTERN, pattern)
        self._resolved = {p: found for p, found in self._resolved.items() if p in used}

    # ---------------------------------------------------------------------------- group

    def members(self) -> Mapping[str, Member]:
        """All members as they are going to be."""
        merged = dict(self.group.members)
        for member_id, member in self._changed.items():
            if member is None:
                merged.pop(member_id, None)
            else:
                merged[member_id] = member
        return merged

    def refresh(self, why: str = "") -> None:
        """Begin a new epoch if there is a reason to, or if the topics that the group is about have changed."""
        group = self.group
        why = why or group.newcomers_joined()
        if not why and not group.is_stale(self.now_ms):
            return
        if group.has_new_topics:
            resolved = dict(self._resolved)
            for pattern in self._resolved:
                # One that takes too long by now keeps what it matched when there were fewer topics.
                with suppress(ApiError):
                    if self._match(pattern, resolved):
                        why = why or f"{pattern} matches other topics"
            self._resolved = resolved
        names = group.names(self.members().values(), self._resolved)
        now_hash = metadata_hash(names, group.image)
        group.checked(self.now_ms)
        if now_hash != group.metadata_hash:
            why = why or "topics changed"
        if why:
            self.epoch = group.epoch + 1
            written = epoch_record(Kind.EPOCH, group.group_id, self.epoch, now_hash)
            self._say(written, partial(group.place_epoch, self.epoch, now_hash))
            group.history.note(group.group_id, self.now_ms, "rebalance", detail=why)

    def introduced(self, member: Member, *, changed: bool) -> str:
        """Why a member that said something of itself begins a new epoch; nothing if it does not."""
        if not changed:
            return ""
        if member.member_id in self.group.members:
            return f"{member.member_id} changed its subscription"
        return f"{member.member_id} joined"

    def assign(self) -> None:
        """Work out the target assignment of a new epoch, unless it is too soon after the last.

        As in Kafka, some later heartbeat does it then. Kafka's default is to wait for a second; here it is not to
        wait, since they cost too little.
        """
        group = self.group
        if self.epoch <= self._assignment_epoch or not group.may_assign(self.now_ms):
            return
        members = self.members()
        assignor = ASSIGNORS[group.preferred_assignor(members.values())]
        topics, specs = self._specs(members)
        targets = assignor(specs, topics)
        for member_id, target in targets.items():
            if self._targets.get(member_id) != target:
                self._say_target(member_id, target)
        written = epoch_record(Kind.TARGET_EPOCH, group.group_id, self.epoch, self.now_ms)
        self._say(written, partial(group.place_target_epoch, self.epoch, self.now_ms))
        self._assignment_epoch, self._targets = self.epoch, targets

    def _specs(
        self, members: Mapping[str, Member]
    ) -> tuple[dict[UUID, int], dict[str, MemberSpec]]:
        """The topics that anybody wants, with their partitions, and all members as the assignors see them."""
        image = self.group.image
        specs = {
            member_id: MemberSpec(
                self._ids_of(member), self._targets.get(member_id, {}), member.instance_id
            )
            for member_id, member in members.items()
        }
        names = self.group.names(members.values(), self._resolved)
        wanted = sorted(name for name in names if name in image.topics)
        topics = {
            image.topics[name].topic_id: len(image.topics[name].partitions) for name in wanted
        }
        return topics, specs

    def _ids_of(self, member: Member) -> frozenset[UUID]:
        """The topics that a member subscribes to and that exist; most want what others want."""
        names = topics_of(member, self._resolved)
        ids = self._ids_by_names.get(names)
        if ids is None:
            ids = self._ids_by_names[names] = ids_of(names, self.group.image)
        return ids

    def settle(
        self, member: Member, claimed: Mapping[UUID, Collection[int]] | None, *, changed: bool
    ) -> Member:
        """Lead a member towards the target assignment."""
        group = self.group
        if not changed and member.is_reconciled_to(self._assignment_epoch):
            return member
        aim = Aim(
            epoch=self._assignment_epoch,
            target=self._targets.get(member.member_id, {}),
            subscribed=self._ids_of(member),
            owners=group.owners,
            claimed=claimed,
            subscription_changed=changed,
        )
        after = reconcile(member, aim)
        if after is not member:
            self._say_current(after)
        return after


def check_member_epoch(
    member: Member, epoch: int, claimed: Mapping[UUID, Collection[int]] | None
) -> None:
    """ApiError if a member is not in the epoch that it says; one back may be the answer that was lost."""
    if epoch in (JOIN_EPOCH, member.epoch):
        return
    lost = (
        epoch == member.previous_epoch
        and claimed is not None
        and all(
            member.assigned.get(topic_id, {}).keys() >= set(partitions)
            for topic_id, partitions in claimed.items()
        )
    )
    if epoch > member.epoch or not lost:
        size = "greater" if epoch > member.epoch else "smaller"
        raise ApiError(
            ErrorCode.FENCED_MEMBER_EPOCH,
            f"The consumer group member has a {size} member epoch ({epoch}) than the one known by the group "
            f"coordinator ({member.epoch}). The member must abandon all its partitions and rejoin.",
        )


def check_released(member: Member, member_id: str) -> None:
    """ApiError if a static member that speaks the consumer protocol has not gone before another takes its place."""
    if member.epoch != STATIC_LEAVE_EPOCH:
        raise ApiError(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"Static member {member_id} with instance id {member.instance_id} cannot join the group because the "
            f"instance id is owned by {member.member_id} member.",
        )


def check_instance(member: Member | None, member_id: str, instance_id: str) -> Member:
    """The static member, if it is the one who asks; ApiError if not."""
    if member is None:
        raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if member.member_id != member_id:
        raise ApiError(
            ErrorCode.FENCED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} was fenced by member {member.member_id}.",
        )
    return member

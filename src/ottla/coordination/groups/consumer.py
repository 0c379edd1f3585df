"""Pure: a consumer group (KIP-848), whose partitions the coordinator assigns: its state and what it can be asked.

The epoch of the group grows whenever its members, their subscriptions or the topics change; a target assignment is
worked out for it, and every member is led there at its own pace (`reconciliation`). All but the deadlines is durable.
What heartbeats do is in `consumer_heartbeat`; members that speak the classic protocol are in `classic_members`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, cast
from uuid import UUID

from ottla.base.errors import ApiError
from ottla.cluster.image import ConfigImage, Image, TopicImage
from ottla.config.group import GroupConfig, resolve_group
from ottla.config.groups import GroupsConfig
from ottla.coordination.decision import Decision, KeyValue, Token
from ottla.coordination.groups import (
    classic_members,
    consumer_gathering,
    consumer_heartbeat,
    consumer_records,
)
from ottla.coordination.groups.arrivals import Arrivals
from ottla.coordination.groups.consumer_member import (
    NOTHING,
    Member,
    MemberState,
    Owned,
    Partitions,
    target_of,
)
from ottla.coordination.groups.consumer_records import Kind
from ottla.coordination.groups.downgrade import DOWNGRADED, by_name
from ottla.coordination.groups.group import Caller
from ottla.coordination.groups.history import Generation, History, Owner
from ottla.coordination.groups.offset_requests import Commit
from ottla.coordination.groups.subscription import Resolved, topics_of
from ottla.coordination.groups.timers import Timers
from ottla.coordination.groups.topics import Topics
from ottla.protocol.apis.heartbeat import HeartbeatRequest
from ottla.protocol.apis.join_group import JoinGroupRequest
from ottla.protocol.apis.leave_group import MemberIdentity
from ottla.protocol.apis.sync_group import SyncGroupRequest
from ottla.protocol.consumer_protocol import CONSUMER, encode_partitions
from ottla.protocol.errors import ErrorCode
from ottla.protocol.schema import Struct

# As in Kafka: a member may be in epoch 1 before the group's first assignment, which is that of epoch 2.
_FIRST_EPOCH: Final = 1

SESSION, REVOKE, REJOIN, RESYNC = "consumer-session", "revoke", "rejoin", "resync"
_TIMERS: Final = (SESSION, REVOKE, REJOIN, RESYNC)


class ConsumerGroup:
    """One group whose members are assigned partitions by the coordinator."""

    __slots__ = (
        "_checked", "_checked_ms", "_own_config", "_own_config_from", "_topics", "_usual", "arrivals",
        "assignment_epoch", "assignment_timestamp_ms", "config", "epoch", "gathering", "group_id", "history",
        "instances", "members", "metadata_hash", "newcomers", "owners", "resolved", "target", "timers",
    )  # fmt: skip

    type_name = "consumer"
    protocol_type = CONSUMER

    def __init__(
        self,
        group_id: str,
        config: GroupsConfig,
        usual: GroupConfig,
        timers: Timers,
        arrivals: Arrivals,
        history: History,
        topics: Topics,
    ) -> None:
        self.group_id = group_id
        self.epoch = _FIRST_EPOCH
        self.metadata_hash = 0
        self.assignment_epoch = _FIRST_EPOCH
        self.assignment_timestamp_ms = 0
        self.members: dict[str, Member] = {}
        self.target: dict[str, Partitions] = {}
        self.resolved: dict[str, Resolved] = {}
        # Derived from the members.
        self.instances: dict[str, str] = {}
        # Members that want topics, are in no target assignment, and have come since the epoch began.
        self.newcomers: set[str] = set()
        self.owners: dict[UUID, dict[int, str]] = {}
        # Soft: the topics that the subscriptions were last compared with, and when.
        self._checked: Mapping[str, TopicImage] | None = None
        self._checked_ms = 0
        self.gathering = consumer_gathering.Gathering()
        self.config = config
        # What holds for groups that have no settings of their own, and what holds for this one.
        self._usual = self._own_config = usual
        self._own_config_from: Mapping[str, ConfigImage] | None = None
        self.timers = timers
        self.arrivals = arrivals
        self.history = history
        self._topics = topics

    # ---------------------------------------------------------------------------- state

    @property
    def state_name(self) -> str:
        """The state in Kafka's words."""
        if not self.members:
            return "Empty"
        if self.epoch > self.assignment_epoch or self.newcomers:
            return "Assigning"
        settled = all(m.is_reconciled_to(self.assignment_epoch) for m in self.members.values())
        return "Stable" if settled else "Reconciling"

    @property
    def is_empty(self) -> bool:
        """Whether it has no members, static ones that went for a while included, and nobody waits to be told so."""
        return not self.members and not self.gathering.waiting

    @property
    def image(self) -> Image:
        """The newest metadata."""
        return self._topics.image

    @property
    def own_config(self) -> GroupConfig:
        """What holds for this group now, its own settings included."""
        image = self._topics.image
        if image.group_configs is not self._own_config_from:
            self._own_config_from = image.group_configs
            overrides = image.group_config(self.group_id)
            self._own_config = resolve_group(self.config, overrides) if overrides else self._usual
        return self._own_config

    def configure(self, config: GroupsConfig, usual: GroupConfig) -> None:
        """Other settings are in force for all groups."""
        self.config, self._usual = config, usual
        self._own_config_from = None

    def static_member(self, instance_id: str | None) -> Member | None:
        """The member that has this instance id."""
        return (
            None if instance_id is None else self.members.get(self.instances.get(instance_id, ""))
        )

    def has_owner(self, topic_id: UUID, partition: int) -> bool:
        """Whether a member owns a partition, or has yet to give it up."""
        return partition in self.owners.get(topic_id, NOTHING)

    def owner(self, topic_id: UUID, partition: int) -> str | None:
        """The one member that owns a partition, or has yet to give it up."""
        return self.owners.get(topic_id, {}).get(partition)

    def target_for(self, member: Member) -> Partitions:
        """What a member shall own; a static member that came back gets what its former self should have."""
        found = self.target.get(member.member_id)
        if found is None and member.instance_id is not None:
            found = self.target.get(self.instances.get(member.instance_id, ""))
        return NOTHING if found is None else found

    def users_of(self, pattern: str) -> int:
        """How many members subscribe by this pattern."""
        return sum(member.pattern == pattern for member in self.members.values())

    def names(self, members: Iterable[Member], resolved: Mapping[str, Resolved]) -> frozenset[str]:
        """All topics that such members would subscribe to."""
        return frozenset().union(*{topics_of(member, resolved) for member in members})

    def preferred_assignor(self, members: Iterable[Member]) -> str:
        """What most members ask for; the first of the settings if nobody asks."""
        asked = [m.server_assignor for m in members if m.server_assignor is not None]
        if not asked:
            return self.config.group_consumer_assignors[0]
        votes = Counter(asked)
        return max(votes, key=lambda name: votes[name])

    def newcomers_joined(self) -> str:
        """Why an epoch has to begin for those who have come since the last; nothing if nobody has."""
        count = len(self.newcomers)
        if count == 1:
            return f"{next(iter(self.newcomers))} joined"
        return f"{count} members joined" if count else ""

    def may_assign(self, now_ms: int) -> bool:
        """Whether the last target assignment is old enough for the next, if there was one."""
        interval_ms = self.own_config.consumer_assignment_interval_ms
        last_ms = self.assignment_timestamp_ms
        # One that is yet to come says nothing: the clock was put back since, or is behind that of another broker.
        return not last_ms or not last_ms <= now_ms < last_ms + interval_ms

    @property
    def has_new_topics(self) -> bool:
        """Whether the topics may have changed since the subscriptions were last compared with them."""
        return self.image.topics is not self._checked

    def is_stale(self, now_ms: int) -> bool:
        """The same, if it is not too soon to look again."""
        if not self.has_new_topics:
            return False
        return now_ms - self._checked_ms >= consumer_heartbeat.REFRESH_INTERVAL_MS

    def checked(self, now_ms: int) -> None:
        """The subscriptions have been compared with the newest topics."""
        self._checked, self._checked_ms = self.image.topics, now_ms

    # ------------------------------------------------------------------------- requests

    def join(
        self, request: JoinGroupRequest, caller: Caller, token: Token, now_ms: int
    ) -> Decision:
        """A member that speaks the classic protocol joins; answered with a JoinGroupResponse."""
        return classic_members.join(self, request, caller, token, now_ms)

    def sync(
        self, request: SyncGroupRequest, caller: Caller, token: Token, now_ms: int
    ) -> Decision:
        """Such a member fetches what it owns; answered with a SyncGroupResponse."""
        return classic_members.sync(self, request, token, now_ms)

    def heartbeat(self, request: HeartbeatRequest, token: Token, now_ms: int) -> Decision:
        """Such a member lives; answered with an error code."""
        return classic_members.heartbeat(self, request, token, now_ms)

    def leave(self, members: Sequence[MemberIdentity], token: Token, now_ms: int) -> Decision:
        """Members go; answered with an error code for each."""
        return classic_members.leave(self, members, token, now_ms)

    def check_commit(self, asked: Commit) -> int:
        """The error that a commit by this member of this epoch is refused with; 0 if it may."""
        member_id, generation = asked.member_id, asked.generation
        if generation < 0 and not self.members:
            return ErrorCode.NONE
        transactional = asked.transactional is not None
        if transactional and generation == -1 and not member_id and asked.instance_id is None:
            return ErrorCode.NONE
        member = self.members.get(member_id)
        if member is not None and not (transactional or asked.knows_epochs or member.classic):
            return ErrorCode.UNSUPPORTED_VERSION
        return self._check_epoch(member_id, generation)

    def has_held(self, member_id: str, epoch: int, topic_id: UUID, partition: int) -> bool:
        """Whether this member was given a partition in an epoch that is over, and has not given it up (KIP-1251)."""
        member = self.members.get(member_id)
        if member is None or not 0 <= epoch < member.epoch:
            return False
        since = member.owned_since(topic_id, partition)
        return since is not None and since <= epoch

    def check_offset_fetch(self, member_id: str | None, generation: int) -> int:
        """Whoever says that it is a member must be one, and know its epoch."""
        if member_id is None and generation < 0:
            return ErrorCode.NONE
        return self._check_epoch(member_id or "", generation)

    def _check_epoch(self, member_id: str, epoch: int) -> int:
        member = self.members.get(member_id)
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if epoch == member.epoch:
            return ErrorCode.NONE
        is_classic = member.classic is not None
        return ErrorCode.ILLEGAL_GENERATION if is_classic else ErrorCode.STALE_MEMBER_EPOCH

    def check_offset_delete(self) -> int:
        """Offsets of topics that nobody subscribes to may always go."""
        return ErrorCode.NONE

    def subscribes_to(self, topic: str) -> bool:
        """Whether a member wants this topic."""
        members = self.members.values()
        return any(topic in topics_of(member, self.resolved) for member in members)

    def offsets_expire_since(self, commit_timestamp_ms: int) -> int | None:
        """As in Kafka, from the commit on: unlike in a classic group, nothing says when this one became empty.

        Nobody subscribes to anything in an empty group, so its offsets go when their last commit is old enough.
        """
        return commit_timestamp_ms

    def committed_by(self, member_id: str, now_ms: int) -> None:
        """Only heartbeats keep a member of a consumer group alive."""

    # ----------------------------------------------------------------------------- time

    def due(self, what: str, member_id: str, now_ms: int) -> Decision:
        """A member has let a deadline pass: it is out. Or those who wait for each other have waited long enough."""
        if what == consumer_gathering.GATHER:
            return consumer_heartbeat.gathered(self, now_ms)
        member = self.members.get(member_id)
        if member is None or what not in _TIMERS:
            return Decision()
        if what == REVOKE and member.state is not MemberState.UNREVOKED_PARTITIONS:
            return Decision()
        why = {
            SESSION: "session expired",
            REVOKE: "did not give up its partitions in time",
            REJOIN: "did not join in time",
            RESYNC: "did not sync in time",
        }[what]
        self.history.note(self.group_id, now_ms, "expired", member_id, why)
        return consumer_heartbeat.fence(self, [member], (), now_ms)

    def extend_session(self, member: Member, now_ms: int) -> None:
        """The member has just shown that it lives."""
        timeout_ms = (
            self.own_config.consumer_session_timeout_ms
            if member.classic is None
            else member.classic.session_timeout_ms
        )
        self.timers.schedule((SESSION, self.group_id, member.member_id), now_ms + timeout_ms)

    def watch_revocation(self, member: Member, now_ms: int) -> None:
        """Set or drop the deadline for giving up partitions; classic members have that for joining anew."""
        key = (REVOKE, self.group_id, member.member_id)
        if member.state is MemberState.UNREVOKED_PARTITIONS and member.classic is None:
            self.timers.schedule(key, now_ms + max(member.rebalance_timeout_ms, 0))
        else:
            self.timers.cancel(key)

    def cancel_timers(self, member_id: str) -> None:
        """Nothing is expected of this member any more."""
        for what in _TIMERS:
            self.timers.cancel((what, self.group_id, member_id))

    def not_written(self, refused: ApiError, now_ms: int) -> Decision:
        """The log refused what was decided: whoever would be out is still a member, and has its deadlines anew."""
        self._checked = None
        self.timers.cancel((DOWNGRADED, self.group_id, ""))
        for member in self.members.values():
            if self.timers.deadline_ms((SESSION, self.group_id, member.member_id)) is None:
                self.extend_session(member, now_ms)
            if self.timers.deadline_ms((REVOKE, self.group_id, member.member_id)) is None:
                self.watch_revocation(member, now_ms)
        return Decision()

    # -------------------------------------------------------------------------- durable

    def tombstones(self) -> list[KeyValue]:
        """What erases the group from the log."""
        return consumer_records.group_tombstones(self.group_id, self.members, self.resolved)

    def replay(self, kind: Kind, name: str, value: Struct | None) -> None:
        """Take in a record of this group; None is its tombstone. The group's own tombstone is the shard's affair."""
        if kind is Kind.EPOCH and value is not None:
            epoch = cast(consumer_records.Epoch, value)
            self.place_epoch(epoch.epoch, epoch.metadata_hash)
        elif kind is Kind.TARGET_EPOCH:
            target = cast(consumer_records.TargetEpoch | None, value)
            if target is None:
                self.place_target_epoch(-1, 0)
            else:
                self.place_target_epoch(target.assignment_epoch, target.assignment_timestamp_ms)
        elif kind is Kind.TARGET:
            target_value = cast(consumer_records.TargetValue | None, value)
            self.place_target(name, None if target_value is None else target_of(target_value))
        elif kind is Kind.MEMBER:
            self._replay_member(name, cast(consumer_records.MemberValue | None, value))
        elif kind is Kind.CURRENT:
            self._replay_current(name, cast(consumer_records.CurrentValue | None, value))
        elif kind is Kind.PATTERN:
            pattern = cast(consumer_records.PatternValue | None, value)
            self.place_pattern(name, None if pattern is None else Resolved.read(pattern))

    def place_epoch(self, epoch: int, metadata_hash: int) -> None:
        """The group is in this epoch."""
        self.epoch, self.metadata_hash = epoch, metadata_hash
        self.newcomers.clear()

    def place_target_epoch(self, epoch: int, timestamp_ms: int) -> None:
        """The target assignment is that of this epoch."""
        self.assignment_epoch, self.assignment_timestamp_ms = epoch, timestamp_ms
        self._remember()

    def _remember(self) -> None:
        """Keep who shall own what in the history, in the bytes that classic consumers know."""
        owners = tuple(
            Owner(
                member.member_id,
                member.instance_id,
                member.client_id,
                member.client_host,
                encode_partitions(by_name(target, self.image)),
            )
            for member_id, target in self.target.items()
            if (member := self.members.get(member_id)) is not None
        )
        at_ms, epoch = self.assignment_timestamp_ms, self.assignment_epoch
        assignor = self.preferred_assignor(self.members.values())
        self.history.assigned(self.group_id, Generation(at_ms, epoch, CONSUMER, assignor, owners))

    def place_target(self, member_id: str, target: Partitions | None) -> None:
        """A member shall own this."""
        if target is None:
            self.target.pop(member_id, None)
        else:
            self.target[member_id] = target
            self.newcomers.discard(member_id)

    def _replay_member(self, member_id: str, value: consumer_records.MemberValue | None) -> None:
        before = self.members.get(member_id)
        if value is not None:
            self.place_member((before or Member(member_id=member_id)).with_subscription(value))
        elif before is not None:
            self._forget_instance(before)
            self._disown(before)
            del self.members[member_id]
            self.newcomers.discard(member_id)

    def place_member(self, member: Member) -> None:
        """A member says this of itself."""
        member_id, before = member.member_id, self.members.get(member.member_id)
        if before is not None:
            self._forget_instance(before)
        if member_id not in self.target and (member.topics or member.pattern):
            self.newcomers.add(member_id)
        self.members[member_id] = member
        if member.instance_id is not None:
            self.instances[member.instance_id] = member_id

    def _forget_instance(self, member: Member) -> None:
        instance_id = member.instance_id
        if instance_id is not None and self.instances.get(instance_id) == member.member_id:
            del self.instances[instance_id]

    def _replay_current(self, member_id: str, value: consumer_records.CurrentValue | None) -> None:
        before = self.members.get(member_id)
        if before is not None or value is not None:
            self.place_current((before or Member(member_id=member_id)).with_current(value))

    def place_current(self, after: Member) -> None:
        """A member owns this."""
        member_id = after.member_id
        before = self.members.get(member_id)
        if before is not None:
            self._disown(before)
        self.members[member_id] = after
        for owned in (after.assigned, after.pending_revocation):
            for topic_id, partitions in owned.items():
                self.owners.setdefault(topic_id, {}).update(dict.fromkeys(partitions, member_id))

    def _disown(self, member: Member) -> None:
        """Free what a member owned, unless somebody else has it by now."""
        for owned in (member.assigned, member.pending_revocation):
            for topic_id, partitions in owned.items():
                owners = self.owners.get(topic_id, {})
                for partition in partitions:
                    if owners.get(partition) == member.member_id:
                        del owners[partition]
                if topic_id in self.owners and not owners:
                    del self.owners[topic_id]

    def place_pattern(self, pattern: str, matched: Resolved | None) -> None:
        """A pattern matches these topics."""
        if matched is None:
            self.resolved.pop(pattern, None)
        else:
            self.resolved[pattern] = matched

    def loaded(self, now_ms: int) -> None:
        """The log has been replayed: the clocks of all members begin now."""
        for member in self.members.values():
            self.extend_session(member, now_ms)
            self.watch_revocation(member, now_ms)

    def clock_was_set(self, by_ms: int) -> None:
        """Topics were looked at, and newcomers have gathered, as long ago as before."""
        self._checked_ms += by_ms
        self.gathering.since_ms += by_ms

    def parked(self) -> list[Token]:
        """Those who have joined and wait for others to come."""
        waiting = self.gathering.waiting.values()
        return [newcomer.token for newcomers in waiting for newcomer in newcomers]

    def refuse_if_full(self, member_id: str) -> None:
        """ApiError if a newcomer does not fit."""
        limit = self.config.group_consumer_max_size
        if len(self.members) >= limit and member_id not in self.members:
            raise ApiError(
                ErrorCode.GROUP_MAX_SIZE_REACHED,
                f"The consumer group has reached its maximum capacity of {limit} members.",
            )

    def known_member(self, member_id: str) -> Member:
        """The member of that id; ApiError if there is none."""
        member = self.members.get(member_id)
        if member is None:
            raise ApiError(
                ErrorCode.UNKNOWN_MEMBER_ID,
                f"Member {member_id} is not a member of group {self.group_id}.",
            )
        return member


def all_partitions(owned: Owned | Partitions) -> set[tuple[UUID, int]]:
    """Partitions one by one."""
    return {(topic_id, p) for topic_id, partitions in owned.items() for p in partitions}

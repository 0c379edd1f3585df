"""Pure: what a classic group is, what the log remembers of it, and what it lets others do with its offsets."""

from __future__ import annotations

from functools import partial
from uuid import UUID

from ottla.config.groups import GroupsConfig
from ottla.coordination.decision import KeyValue, Token
from ottla.coordination.groups.arrivals import Arrivals
from ottla.coordination.groups.effects import Effects
from ottla.coordination.groups.history import Generation, History, Owner
from ottla.coordination.groups.members import Member, Roster
from ottla.coordination.groups.offset_requests import Commit
from ottla.coordination.groups.records import GroupValue, group_record
from ottla.coordination.groups.state import FOLLOWS, GroupState
from ottla.coordination.groups.timers import TimerKey, Timers
from ottla.protocol.consumer_protocol import CONSUMER, subscribed_topics
from ottla.protocol.errors import ErrorCode

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = GroupState

JOIN, SYNC, SESSION = "join", "sync", "session"
"""What timers of a classic group are for."""


class RememberedGroup:
    """The state of a classic group; `replay` makes it what the log says."""

    __slots__ = (
        "_announced", "_arrivals", "_config", "_gather_until_ms", "_history", "_newcomers", "_subscribed", "_timers",
        "generation", "group_id", "members", "pending", "protocol", "protocol_type", "state",
        "state_since_ms", "unsynced",
    )  # fmt: skip

    type_name = "classic"

    def __init__(
        self,
        group_id: str,
        config: GroupsConfig,
        timers: Timers,
        arrivals: Arrivals,
        history: History,
    ) -> None:
        self.group_id = group_id
        self.state = EMPTY
        self.state_since_ms = -1
        self.generation = 0
        self.protocol_type = ""
        self.protocol: str | None = None
        self.members = Roster()
        # Ids that were given out and whose owners have not come back with them yet (KIP-394).
        self.pending: set[str] = set()
        # Who has been told of the generation and has not asked for its assignment.
        self.unsynced: set[str] = set()
        # In the first rebalance of an empty group: until when it may wait for more members.
        self._gather_until_ms: int | None = None
        self._newcomers = False
        # Whether the last newcomer had asked for an id first.
        self._announced = False
        self._subscribed: frozenset[str] | None = None
        self._config = config
        self._timers = timers
        self._arrivals = arrivals
        self._history = history

    @property
    def state_name(self) -> str:
        """The state in Kafka's words."""
        return self.state.value

    @property
    def is_empty(self) -> bool:
        """Whether nobody is or becomes a member."""
        return self.state is EMPTY and not self.pending

    # ----------------------------------------------------------------------- remembered

    def _write(self, effects: Effects, generation: int | None = None) -> None:
        """Have the group remembered as it is: its members and what they were given."""
        value = self.value(effects.now_ms, generation)
        effects.records.append(group_record(self.group_id, value))
        effects.replay = partial(self.replay, value)

    def value(self, now_ms: int, generation: int | None = None) -> GroupValue:
        """What the log is to hold of the group."""
        protocol = self.protocol if len(self.members) else None
        return GroupValue(
            protocol_type=self.protocol_type,
            generation=self.generation if generation is None else generation,
            protocol=protocol,
            leader=self.members.leader_id,
            state_timestamp_ms=now_ms,
            members=[member.written(protocol, member.assignment) for member in self.members],
        )

    def replay(self, value: GroupValue) -> None:
        """A generation is in the log: the group is as it says, stable or empty."""
        self.generation = value.generation
        self.protocol_type = value.protocol_type
        self.protocol = value.protocol
        self._subscribed = None
        self._replay_members(value)
        self.members.leader_id = value.leader
        self._become(STABLE if value.members else EMPTY, value.state_timestamp_ms, replayed=True)
        self._remember(value)

    def _replay_members(self, value: GroupValue) -> None:
        """In a running group this finds everybody as they are; in one that is loaded it makes them so."""
        present = {written.member_id for written in value.members}
        for member in [member for member in self.members if member.member_id not in present]:
            self.members.remove(member)
        for written in value.members:
            known = self.members.get(written.member_id)
            if known is None:
                self.members.add(Member.read(written, value.protocol))
            else:
                known.assignment = written.assignment
                if known.metadata(value.protocol) != written.subscription:
                    self.members.can_do(known, ((value.protocol or "", written.subscription),))

    def _remember(self, value: GroupValue) -> None:
        owners = tuple(
            Owner(m.member_id, m.group_instance_id, m.client_id, m.client_host, m.assignment)
            for m in value.members
        )
        if not owners:
            self._history.note(self.group_id, value.state_timestamp_ms, "empty")
        self._history.assigned(
            self.group_id,
            Generation(
                value.state_timestamp_ms,
                value.generation,
                value.protocol_type,
                value.protocol or "",
                owners,
            ),
        )

    def _become(self, state: GroupState, now_ms: int, *, replayed: bool = False) -> None:
        assert replayed or state in FOLLOWS[self.state], f"{self.state} -> {state}"
        self.state = state
        self.state_since_ms = now_ms

    def die(self) -> None:
        """The group has been erased; whoever still waits is answered by whoever erased it."""
        self._cancel(JOIN)
        self._cancel(SYNC)
        for member_id in (*self.pending, *(member.member_id for member in self.members)):
            self._timers.cancel(self._key(SESSION, member_id))
        self.state = DEAD

    def tombstones(self) -> list[KeyValue]:
        """What erases the group from the log, offsets apart."""
        return [group_record(self.group_id, None)]

    def loaded(self, now_ms: int) -> None:
        """The log has been replayed: sessions of the members begin now."""
        for member in self.members:
            self._extend_session(member, now_ms)

    def clock_was_set(self, by_ms: int) -> None:
        """A rebalance has lasted as long as before; when the group became what it is in the log stays as it is."""
        if self.state is PREPARING:
            self.state_since_ms += by_ms
        if self._gather_until_ms is not None:
            self._gather_until_ms += by_ms

    def parked(self) -> list[Token]:
        """Everybody who waits for the group."""
        tokens = (token for m in self.members for token in (m.join_token, m.sync_token))
        return [token for token in tokens if token is not None]

    # ---------------------------------------------------------------------------- checks

    def _check_member(self, member_id: str, instance_id: str | None) -> int:
        if instance_id is not None:
            current = self.members.instances.get(instance_id)
            if current is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if current != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.NONE if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    def _check_generation(self, member_id: str, instance_id: str | None, generation: int) -> int:
        if self.state is DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        error = self._check_member(member_id, instance_id)
        if not error and generation != self.generation:
            return ErrorCode.ILLEGAL_GENERATION
        return error

    def check_commit(self, asked: Commit) -> int:
        """The error that a commit by this member of this generation is refused with; 0 if it may."""
        member_id, instance_id, generation = asked.member_id, asked.instance_id, asked.generation
        if generation < 0 and self.state is EMPTY:
            return ErrorCode.NONE
        transactional = asked.transactional is not None
        if generation >= 0 or member_id or instance_id is not None:
            error = self._check_generation(member_id, instance_id, generation)
            if error:
                return error
        elif not transactional and self.state is not EMPTY:
            # Old transactional clients say neither who they are nor of which generation.
            return ErrorCode.UNKNOWN_MEMBER_ID
        if self.state is COMPLETING and not transactional:
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.COORDINATOR_NOT_AVAILABLE if self.state is DEAD else ErrorCode.NONE

    def has_held(self, member_id: str, epoch: int, topic_id: UUID, partition: int) -> bool:
        """Members of a classic group share one generation, and what is assigned in it."""
        return False

    def check_offset_fetch(self, member_id: str | None, generation: int) -> int:
        """Anybody may read the offsets of a classic group."""
        return ErrorCode.GROUP_ID_NOT_FOUND if self.state is DEAD else ErrorCode.NONE

    def check_offset_delete(self) -> int:
        """Offsets may go while nobody could be using them, as far as that can be known."""
        if self.state is DEAD:
            return ErrorCode.GROUP_ID_NOT_FOUND
        readable = self.state is EMPTY or self.protocol_type == CONSUMER
        return ErrorCode.NONE if readable else ErrorCode.NON_EMPTY_GROUP

    def committed_by(self, member_id: str, now_ms: int) -> None:
        """A commit shows that the member is alive, as a heartbeat would."""
        member = self.members.get(member_id)
        if member is not None:
            self._extend_session(member, now_ms)

    def subscribes_to(self, topic: str) -> bool:
        """Whether a member reads the topic; a subscription that cannot be read may be to anything."""
        if self.protocol_type != CONSUMER or not len(self.members):
            return False
        if self._subscribed is None:
            found = [subscribed_topics(member.metadata(self.protocol)) for member in self.members]
            if None in found:
                return True
            self._subscribed = frozenset().union(*(topics for topics in found if topics))
        return topic in self._subscribed

    def offsets_expire_since(self, commit_timestamp_ms: int) -> int | None:
        """From when on the retention of an offset that nobody subscribes to is counted; None while it is not."""
        if not self.protocol_type:
            return commit_timestamp_ms
        if self.state is EMPTY:
            return self.state_since_ms if self.state_since_ms >= 0 else commit_timestamp_ms
        if self.state is STABLE and self.protocol_type == CONSUMER:
            return commit_timestamp_ms
        return None

    # ---------------------------------------------------------------------------- timers

    def _extend_session(self, member: Member, now_ms: int) -> None:
        self._schedule(SESSION, now_ms + member.session_timeout_ms, member.member_id)

    def _key(self, what: str, member_id: str = "") -> TimerKey:
        return what, self.group_id, member_id

    def _schedule(
        self, what: str, deadline_ms: int, member_id: str = "", *, or_quiet: bool = False
    ) -> None:
        self._timers.schedule((what, self.group_id, member_id), deadline_ms, or_quiet=or_quiet)

    def _cancel(self, what: str) -> None:
        self._timers.cancel((what, self.group_id, ""))

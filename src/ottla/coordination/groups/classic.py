"""Pure: a classic group: join, sync, heartbeat, leave, and what happens when a time-out passes.

What `state.py` says of each state is done here. Members, the waiting and the generation under way are soft: a crash
loses them and the members join again. The last assigned generation is durable: it is written when the leader's sync,
the return of a static member or the last member's leaving is decided, and takes hold in `replay`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ottla.base.errors import ApiError
from ottla.coordination.decision import Decision, Token
from ottla.coordination.groups import answers, arrivals
from ottla.coordination.groups.downgrade import DOWNGRADED
from ottla.coordination.groups.effects import Effects
from ottla.coordination.groups.group import Caller
from ottla.coordination.groups.members import Member, protocols_of
from ottla.coordination.groups.remembered import (
    COMPLETING,
    DEAD,
    EMPTY,
    JOIN,
    PREPARING,
    SESSION,
    STABLE,
    SYNC,
    RememberedGroup,
)
from ottla.protocol.apis.heartbeat import HeartbeatRequest
from ottla.protocol.apis.join_group import JoinGroupRequest
from ottla.protocol.apis.leave_group import MemberIdentity
from ottla.protocol.apis.sync_group import SyncGroupRequest
from ottla.protocol.consumer_protocol import CONSUMER, subscribed_topics
from ottla.protocol.errors import ErrorCode

# A join of somebody who has no id yet cannot be kept alive by heartbeats; after this time it is taken for abandoned.
NEW_MEMBER_JOIN_TIMEOUT_MS: Final = 5 * 60 * 1000
FIRST_WITH_MEMBER_ID_REQUIRED: Final = 4
FIRST_WITH_SKIP_ASSIGNMENT: Final = 9
LAST_GENERATION: Final = 2**31 - 1
# Even with no initial delay an empty group waits this long for members that start together: who comes just after a
# generation has begun is let in at the others' next heartbeat, seconds later. Kafka's coordinator takes as long to
# write a new group (group.coordinator.append.linger.ms).
SHORTEST_GATHERING_MS: Final = 5
# Where members ask for an id first, those who have got one and are on their way are known: less is enough.
SHORTEST_ANNOUNCED_MS: Final = 2
LONGEST_WAIT_FOR_ANNOUNCED_MS: Final = arrivals.LONGEST_MS
_RETRY_MS: Final = 1000


class ClassicGroup(RememberedGroup):
    """One group whose members assign partitions, or whatever they share, among themselves."""

    __slots__ = ()

    # ----------------------------------------------------------------------------- join

    def join(
        self, request: JoinGroupRequest, caller: Caller, token: Token, now_ms: int
    ) -> Decision:
        """Become a member, or join the next generation; answered with a JoinGroupResponse."""
        effects = Effects(now_ms)
        member_id = request.member_id
        if self.state is DEAD:
            effects.refuse(token, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        elif not self._has_room_for(member_id):
            self._turn_away(member_id, token, effects)
        elif not self._can_join_with(request):
            effects.refuse(token, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        elif not member_id:
            self._join_unknown(request, caller, token, effects)
        elif member_id in self.pending and request.group_instance_id is None:
            self._add(member_id, request, caller, token, effects)
        else:
            self._join_known(request, caller, token, effects)
        return effects.decision()

    def _has_room_for(self, member_id: str) -> bool:
        limit = self._config.group_max_size
        member = self.members.get(member_id)
        if self.state is PREPARING:
            # Those who have come count, not those who were there: the limit may have been lowered since.
            is_waiting = member is not None and member.join_token is not None
            return is_waiting or self.members.awaiting < limit
        return self.state is EMPTY or member is not None or len(self.members) < limit

    def _turn_away(self, member_id: str, token: Token, effects: Effects) -> None:
        member = self.members.get(member_id)
        effects.refuse(token, ErrorCode.GROUP_MAX_SIZE_REACHED)
        self._forget_pending(member_id)
        if member is not None:
            self._remove(member, effects)
        self._complete_if_all_joined(effects)

    def _can_join_with(self, request: JoinGroupRequest) -> bool:
        names = [protocol.name for protocol in request.protocols]
        if not len(self.members):
            return bool(request.protocol_type and names)
        return request.protocol_type == self.protocol_type and self.members.share_one_of(names)

    def _join_unknown(
        self, request: JoinGroupRequest, caller: Caller, token: Token, effects: Effects
    ) -> None:
        instance_id = request.group_instance_id
        member_id = f"{instance_id or caller.client_id}-{caller.fresh_id}"
        if instance_id is not None:
            known = self.members.get(self.members.instances.get(instance_id, ""))
            if known is not None:
                self._replace(known, member_id, request, caller, token, effects)
            else:
                self._add(member_id, request, caller, token, effects)
        elif caller.version >= FIRST_WITH_MEMBER_ID_REQUIRED:
            self.pending.add(member_id)
            self._schedule(SESSION, effects.now_ms + request.session_timeout_ms, member_id)
            effects.reply(token, answers.member_id_required(member_id))
        else:
            self._add(member_id, request, caller, token, effects)

    def _add(
        self,
        member_id: str,
        request: JoinGroupRequest,
        caller: Caller,
        token: Token,
        effects: Effects,
    ) -> None:
        member = Member(member_id, request.group_instance_id)
        member.introduce(request, caller)
        member.protocols = protocols_of(request)
        member.is_new = True
        self._announced = member_id in self.pending
        self.pending.discard(member_id)
        self._arrivals.came(self.group_id)
        if not len(self.members):
            self.protocol_type = request.protocol_type
        self.members.add(member)
        self.members.hold_join(member, token)
        self._newcomers = True
        self._schedule(SESSION, effects.now_ms + NEW_MEMBER_JOIN_TIMEOUT_MS, member_id)
        self._history.note(self.group_id, effects.now_ms, "joined", member_id, request.reason or "")
        self._rebalance(f"{member_id} joined", effects)

    def _join_known(
        self, request: JoinGroupRequest, caller: Caller, token: Token, effects: Effects
    ) -> None:
        member_id = request.member_id
        member = self.members.get(member_id)
        error = self._check_member(member_id, request.group_instance_id)
        if error or member is None:
            effects.refuse(token, error)
            return
        changed = member.protocols != protocols_of(request)
        leads = member_id == self.members.leader_id
        if self.state is PREPARING:
            self._rejoin(member, request, caller, token, effects)
            self._complete_if_all_joined(effects)
        elif changed or (self.state is STABLE and leads):
            # A leader that joins again has seen what it assigns change, though its own metadata has not.
            why = "changed what it asks for" if changed else "leads, and asks for a rebalance"
            self._rejoin(member, request, caller, token, effects)
            self._rebalance(f"{member_id} {why}{_because(request.reason)}", effects)
        else:
            # It did not get the answer to its join, and asks again.
            self._extend_session(member, effects.now_ms)
            is_leader = leads and self.state is COMPLETING
            effects.reply(token, answers.joined(self, member, with_members=is_leader))

    def _rejoin(
        self,
        member: Member,
        request: JoinGroupRequest,
        caller: Caller,
        token: Token,
        effects: Effects,
    ) -> None:
        member.introduce(request, caller)
        self.members.can_do(member, protocols_of(request))
        for overtaken in self.members.hold_join(member, token):
            effects.refuse(overtaken, ErrorCode.REBALANCE_IN_PROGRESS)

    def _replace(
        self,
        member: Member,
        member_id: str,
        request: JoinGroupRequest,
        caller: Caller,
        token: Token,
        effects: Effects,
    ) -> None:
        """A static member comes back and knows nothing: it takes its place, and its former self is fenced."""
        former, former_leader = member.member_id, self.members.leader_id
        for fenced in (*self.members.release_join(member), *self.members.release_sync(member)):
            effects.refuse(fenced, ErrorCode.FENCED_INSTANCE_ID)
        self._timers.cancel(self._key(SESSION, former))
        self.members.rename(member, member_id)
        if former in self.unsynced:
            self.unsynced ^= {former, member_id}
        wanted = subscribed_topics(member.metadata(self.protocol))
        member.introduce(request, caller)
        self.members.can_do(member, protocols_of(request))
        self._extend_session(member, effects.now_ms)
        self._history.note(self.group_id, effects.now_ms, "replaced", member_id, f"was {former}")
        if self.state is STABLE and self._is_served_as_before(member, wanted):
            self._write(effects)
            skips = caller.version >= FIRST_WITH_SKIP_ASSIGNMENT
            leads = self.members.leader_id == member_id
            answer = answers.joined(self, member, with_members=skips and leads)
            answer.skip_assignment = skips and leads
            if not skips:
                # An old client that leads would assign anew; it must not learn that it does (KAFKA-7728).
                answer.leader = former_leader or ""
            effects.reply(token, answer)
            return
        self.members.hold_join(member, token)
        self._rebalance(f"{member_id} came back as {request.group_instance_id}", effects)

    def _is_served_as_before(self, member: Member, wanted: frozenset[str] | None) -> bool:
        """Whether the assignment still fits a static member that came back.

        Kafka looks at the protocol alone; a member that now reads other topics would be left with the old ones.
        """
        if self.members.choose_protocol() != self.protocol:
            return False
        if self.protocol_type != CONSUMER:
            return True
        return wanted == subscribed_topics(member.metadata(self.protocol))

    # ------------------------------------------------------------------------ rebalance

    def _rebalance(self, reason: str, effects: Effects) -> None:
        """Begin to gather the members, unless that is under way."""
        if self.state is PREPARING:
            until_ms = self._gather_until_ms
            if until_ms is not None and not self._config.group_initial_rebalance_delay_ms:
                self._gather(until_ms, effects)
            self._complete_if_all_joined(effects)
            return
        self._history.note(self.group_id, effects.now_ms, "rebalance", detail=reason)
        self._refuse_syncs(ErrorCode.REBALANCE_IN_PROGRESS, effects)
        self._cancel(SYNC)
        self.unsynced.clear()
        was_empty = self.state is EMPTY
        self._become(PREPARING, effects.now_ms)
        timeout_ms = self.members.longest_rebalance_timeout_ms()
        if was_empty:
            self._gather_until_ms = effects.now_ms + timeout_ms
            self._gather(self._gather_until_ms, effects)
        else:
            self._schedule(JOIN, effects.now_ms + timeout_ms)
            self._complete_if_all_joined(effects)

    def _gather(self, until_ms: int, effects: Effects) -> None:
        """Wait for others; where no delay is set, until nobody comes any more."""
        shortest_ms = SHORTEST_ANNOUNCED_MS if self._announced else SHORTEST_GATHERING_MS
        delay_ms = self._config.group_initial_rebalance_delay_ms
        deadline_ms = min(effects.now_ms + max(delay_ms, shortest_ms), until_ms)
        self._newcomers = False
        or_quiet = not delay_ms and not self._expects_more(effects.now_ms)
        self._schedule(JOIN, deadline_ms, or_quiet=or_quiet)

    def _complete_if_all_joined(self, effects: Effects) -> None:
        all_joined = self.members.awaiting == len(self.members) and not self.pending
        if self.state is PREPARING and self._gather_until_ms is None and all_joined:
            self._complete_join(effects)

    def _gathered(self, effects: Effects) -> None:
        """The time to gather is over; an empty group waits on as long as members keep coming."""
        until_ms = self._gather_until_ms or 0
        if effects.now_ms < until_ms and (self._newcomers or self._expects_more(effects.now_ms)):
            self._gather(until_ms, effects)
        else:
            self._complete_join(effects)

    def _expects_more(self, now_ms: int) -> bool:
        """Whether somebody has just been given an id, or told where to come; one that has not by now may have gone."""
        if now_ms - self.state_since_ms >= LONGEST_WAIT_FOR_ANNOUNCED_MS:
            return False
        return bool(self.pending) or self._arrivals.are_expected(self.group_id, now_ms)

    def _complete_join(self, effects: Effects) -> None:
        """Whoever has not come is out, static members excepted; the others get their generation."""
        self._cancel(JOIN)
        self._gather_until_ms = None
        for member in [m for m in self.members if m.join_token is None and m.instance_id is None]:
            self._history.note(
                self.group_id, effects.now_ms, "expired", member.member_id, "did not join in time"
            )
            self._remove(member, effects)
        if not len(self.members):
            self._write(effects, self._next_generation())
            effects.undo = self._not_emptied
        elif not self.members.elect_leader():
            # Static members alone, and none has come: they keep their places.
            timeout_ms = self.members.longest_rebalance_timeout_ms()
            self._schedule(JOIN, effects.now_ms + timeout_ms)
        else:
            self._begin_generation(effects)

    def _not_emptied(self, refused: ApiError, now_ms: int) -> Decision:
        """The log did not take that nobody is left: it is told again, unless somebody comes first."""
        self._schedule(JOIN, now_ms + _RETRY_MS)
        return Decision()

    def _begin_generation(self, effects: Effects) -> None:
        self.generation = self._next_generation()
        self.protocol = self.members.choose_protocol()
        self._subscribed = None
        self._become(COMPLETING, effects.now_ms)
        for member in self.members:
            leads = member.member_id == self.members.leader_id
            for token in self.members.release_join(member):
                effects.reply(token, answers.joined(self, member, with_members=leads))
            member.is_new = False
            self.unsynced.add(member.member_id)
            self._extend_session(member, effects.now_ms)
        self._schedule(SYNC, effects.now_ms + self.members.longest_rebalance_timeout_ms())

    def _next_generation(self) -> int:
        return 1 if self.generation == LAST_GENERATION else self.generation + 1

    # ----------------------------------------------------------------------------- sync

    def sync(
        self, request: SyncGroupRequest, caller: Caller, token: Token, now_ms: int
    ) -> Decision:
        """Hand out or fetch an assignment; answered with a SyncGroupResponse."""
        effects = Effects(now_ms)
        member = self.members.get(request.member_id)
        error = self._check_sync(request)
        if error or member is None:
            effects.refuse(token, error)
            return effects.decision()
        self.unsynced.discard(request.member_id)
        if not self.unsynced:
            self._cancel(SYNC)
        if self.state is STABLE:
            self._extend_session(member, now_ms)
            effects.reply(token, answers.synced(self, member.assignment))
            return effects.decision()
        for overtaken in self.members.release_sync(member):
            effects.refuse(overtaken, ErrorCode.REBALANCE_IN_PROGRESS)
        member.sync_token = token
        if request.member_id == self.members.leader_id:
            given = {each.member_id: each.assignment for each in request.assignments}
            self._assign(given, effects)
        return effects.decision()

    def _check_sync(self, request: SyncGroupRequest) -> int:
        error = self._check_generation(
            request.member_id, request.group_instance_id, request.generation_id
        )
        if error:
            return error
        if request.protocol_type not in (None, self.protocol_type):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        if request.protocol_name not in (None, self.protocol):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        return ErrorCode.REBALANCE_IN_PROGRESS if self.state is PREPARING else ErrorCode.NONE

    def _assign(self, given: dict[str, bytes], effects: Effects) -> None:
        """The leader has spoken; whom it has forgotten gets nothing, and strangers are passed over."""
        for member in self.members:
            member.assignment = given.get(member.member_id, b"")
            # Sessions of those who waited were not watched.
            self._extend_session(member, effects.now_ms)
            for token in self.members.release_sync(member):
                effects.reply(token, answers.synced(self, member.assignment))
        self._write(effects)
        effects.undo = self._not_assigned

    def _not_assigned(self, refused: ApiError, now_ms: int) -> Decision:
        """The log did not take the assignment; as in Kafka the members begin anew."""
        effects = Effects(now_ms)
        for member in self.members:
            member.assignment = b""
        self._rebalance("the assignment could not be written", effects)
        return effects.decision()

    def _refuse_syncs(self, error: int, effects: Effects) -> None:
        for member in self.members:
            for token in self.members.release_sync(member):
                effects.refuse(token, error)
                self._extend_session(member, effects.now_ms)

    def not_converted(self, refused: ApiError, now_ms: int) -> Decision:
        """The log did not take a consumer group in its place; those who waited here were told, and come again."""
        for member in self.members:
            told = (*self.members.release_join(member), *self.members.release_sync(member))
            if told:
                self._extend_session(member, now_ms)
        return Decision()

    # --------------------------------------------------------------- heartbeat and leave

    def heartbeat(self, request: HeartbeatRequest, token: Token, now_ms: int) -> Decision:
        """A member lives; answered with an error code."""
        error = self._check_generation(
            request.member_id, request.group_instance_id, request.generation_id
        )
        member = self.members.get(request.member_id)
        if not error and member is not None:
            self._extend_session(member, now_ms)
            if self.state is PREPARING:
                error = ErrorCode.REBALANCE_IN_PROGRESS
        return Decision(replies=((token, error),))

    def leave(self, members: Sequence[MemberIdentity], token: Token, now_ms: int) -> Decision:
        """Members go; answered with an error code for each, or an ApiError for all."""
        effects = Effects(now_ms)
        if self.state is DEAD:
            effects.refuse(token, ErrorCode.COORDINATOR_NOT_AVAILABLE)
            return effects.decision()
        before = len(self.members)
        errors = [self._leave_one(identity, effects) for identity in members]
        effects.reply(token, errors)
        if len(self.members) < before:
            gone = [each for each, error in zip(members, errors, strict=True) if not error]
            names = ", ".join(each.member_id or each.group_instance_id or "" for each in gone)
            self._rebalance(f"{names} left{_because(gone[0].reason)}", effects)
        else:
            self._complete_if_all_joined(effects)
        return effects.decision()

    def _leave_one(self, identity: MemberIdentity, effects: Effects) -> int:
        member_id, instance_id = identity.member_id, identity.group_instance_id
        if instance_id is not None:
            # An administrator may name the instance alone.
            member_id = member_id or self.members.instances.get(instance_id, "")
        if member_id in self.pending and instance_id is None:
            self._forget_pending(member_id)
            return ErrorCode.NONE
        error = self._check_member(member_id, instance_id)
        member = self.members.get(member_id)
        if not error and member is not None:
            self._history.note(
                self.group_id, effects.now_ms, "left", member_id, identity.reason or ""
            )
            self._remove(member, effects)
        return error

    def _remove(self, member: Member, effects: Effects) -> None:
        """Take a member off the roster; if it waits, it is told to begin anew."""
        self._timers.cancel(self._key(SESSION, member.member_id))
        self.unsynced.discard(member.member_id)
        for token in self.members.remove(member):
            effects.refuse(token, ErrorCode.UNKNOWN_MEMBER_ID)

    def _forget_pending(self, member_id: str) -> None:
        self.pending.discard(member_id)
        self._timers.cancel(self._key(SESSION, member_id))

    # ------------------------------------------------------------------------------ time

    def due(self, what: str, member_id: str, now_ms: int) -> Decision:
        """A timer of this group has come."""
        effects = Effects(now_ms)
        if what == JOIN:
            self._gathered(effects)
        elif what == SYNC:
            self._sync_timed_out(effects)
        elif what == SESSION:
            self._session_ended(member_id, effects)
        elif what == DOWNGRADED:
            self.loaded(now_ms)
            self._rebalance("the last member of the consumer protocol left", effects)
        return effects.decision()

    def _sync_timed_out(self, effects: Effects) -> None:
        late = [member for member in self.members if member.member_id in self.unsynced]
        for member in late:
            self._history.note(
                self.group_id, effects.now_ms, "expired", member.member_id, "did not sync in time"
            )
            self._remove(member, effects)
        if late:
            names = ", ".join(member.member_id for member in late)
            self._rebalance(f"{names} did not sync in time", effects)

    def _session_ended(self, member_id: str, effects: Effects) -> None:
        if member_id in self.pending:
            self._forget_pending(member_id)
            self._complete_if_all_joined(effects)
            return
        member = self.members.get(member_id)
        if member is None:
            return
        waits = member.join_token is not None or member.sync_token is not None
        if waits and not member.is_new:
            # It cannot send heartbeats while it waits for us; its session begins again with our answer.
            return
        why = "abandoned its join" if member.is_new else "session expired"
        self._history.note(self.group_id, effects.now_ms, "expired", member_id, why)
        self._remove(member, effects)
        self._rebalance(f"{member_id}: {why}", effects)


def _because(reason: str | None) -> str:
    return f": {reason}" if reason else ""

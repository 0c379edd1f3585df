"""Pure: the machine behind one partition of `__consumer_offsets`: its groups, their offsets and all deadlines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from ottla.base.errors import ApiError
from ottla.base.units import MINUTE_MS
from ottla.cluster.image import NO_SETTINGS, Delta
from ottla.config.group import resolve_group
from ottla.config.groups import GroupsConfig
from ottla.coordination.decision import (
    Decision,
    KeyValue,
    Token,
    Transactional,
    Undo,
    UnknownRecord,
    refuse,
)
from ottla.coordination.groups import consumer_records, consumer_shard, offset_records, records
from ottla.coordination.groups.arrivals import Arrivals
from ottla.coordination.groups.classic import ClassicGroup
from ottla.coordination.groups.consumer import ConsumerGroup
from ottla.coordination.groups.group import Caller, Group
from ottla.coordination.groups.history import History
from ottla.coordination.groups.offset_history import Author
from ottla.coordination.groups.offset_records import Committed, OffsetKey
from ottla.coordination.groups.offset_rules import OffsetLimits
from ottla.coordination.groups.offsets import Offsets
from ottla.coordination.groups.timers import TimerKey, Timers
from ottla.coordination.groups.topics import Topics
from ottla.protocol.apis.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from ottla.protocol.apis.heartbeat import HeartbeatRequest
from ottla.protocol.apis.join_group import JoinGroupRequest
from ottla.protocol.apis.leave_group import MemberIdentity
from ottla.protocol.apis.sync_group import SyncGroupRequest
from ottla.protocol.errors import ErrorCode

# What one tick may write; the rest is due at once, in a turn of its own.
_RECORDS_PER_TICK: Final = 1000
_FORGET: Final[TimerKey] = ("forget", "", "")


class GroupShard:
    """All groups whose names lead to one partition."""

    def __init__(self, config: GroupsConfig, topics: Topics) -> None:
        self.config = config
        self.usual_config = resolve_group(config, NO_SETTINGS)
        self.topics = topics
        self.groups: dict[str, Group] = {}
        self.timers = Timers()
        self.arrivals = Arrivals()
        self.history = History()
        self.offsets = Offsets(
            OffsetLimits(
                metadata_max_bytes=config.offset_metadata_max_bytes,
                retention_ms=config.offsets_retention_minutes * MINUTE_MS,
                check_interval_ms=config.offsets_retention_check_interval_ms,
            )
        )

    def configure(self, config: GroupsConfig) -> None:
        """Other settings are in force; of those that may change, classic groups have none."""
        self.config = config
        self.usual_config = resolve_group(config, NO_SETTINGS)
        for group in self.groups.values():
            if isinstance(group, ConsumerGroup):
                group.configure(config, self.usual_config)

    # ------------------------------------------------------------------ classic requests

    def join(
        self, request: JoinGroupRequest, caller: Caller, token: Token, now_ms: int
    ) -> Decision:
        """Become a member, or join the next generation; answered with a JoinGroupResponse."""
        if not request.group_id:
            return refuse(token, ErrorCode.INVALID_GROUP_ID)
        low, high = (
            self.config.group_min_session_timeout_ms,
            self.config.group_max_session_timeout_ms,
        )
        if not low <= request.session_timeout_ms <= high:
            return refuse(token, ErrorCode.INVALID_SESSION_TIMEOUT)
        group = self.groups.get(request.group_id)
        left_over = isinstance(group, ConsumerGroup) and group.is_empty
        if group is not None and not left_over:
            return group.join(request, caller, token, now_ms)
        if request.member_id:
            return refuse(token, ErrorCode.UNKNOWN_MEMBER_ID)
        fresh = self.new_classic(request.group_id)
        decision = fresh.join(request, caller, token, now_ms)
        if fresh.is_empty:
            return decision
        self.groups[request.group_id] = fresh
        if group is None:
            return decision
        # A consumer group that nobody is in makes way; its offsets stay.
        self.history.note(request.group_id, now_ms, "converted", detail=fresh.type_name)
        undo = partial(self._not_converted, group, fresh)
        return Decision([*group.tombstones(), *decision.records], decision.replies, undo=undo)

    def _not_converted(
        self, former: Group, fresh: ClassicGroup, refused: ApiError, now_ms: int
    ) -> Decision:
        """The log did not take the end of a consumer group, so there is no classic one."""
        self.groups[former.group_id] = former
        waiting = fresh.parked()
        fresh.die()
        return Decision(replies=[(token, refused) for token in waiting])

    def sync(
        self, request: SyncGroupRequest, caller: Caller, token: Token, now_ms: int
    ) -> Decision:
        """Hand out or fetch an assignment; answered with a SyncGroupResponse."""
        group = self.groups.get(request.group_id)
        if group is None:
            return refuse(token, _missing(request.group_id))
        return group.sync(request, caller, token, now_ms)

    def heartbeat(self, request: HeartbeatRequest, token: Token, now_ms: int) -> Decision:
        """A member lives; answered with an error code."""
        group = self.groups.get(request.group_id)
        if group is None:
            return refuse(token, _missing(request.group_id))
        return group.heartbeat(request, token, now_ms)

    def leave(
        self, group_id: str, members: Sequence[MemberIdentity], token: Token, now_ms: int
    ) -> Decision:
        """Members go; answered with an error code for each, or an ApiError for all."""
        group = self.groups.get(group_id)
        if group is not None:
            return group.leave(members, token, now_ms)
        if not group_id:
            return refuse(token, ErrorCode.INVALID_GROUP_ID)
        return Decision(replies=((token, [ErrorCode.UNKNOWN_MEMBER_ID] * len(members)),))

    def delete(self, group_id: str, token: Token, now_ms: int) -> Decision:
        """Erase a group that has no members; answered with an error code."""
        group = self.groups.get(group_id)
        if group is None:
            return refuse(token, ErrorCode.GROUP_ID_NOT_FOUND)
        if not group.is_empty:
            return refuse(token, ErrorCode.NON_EMPTY_GROUP)
        self.history.note(group_id, now_ms, "deleted")
        erased = [*self.offsets.delete_all(group_id, now_ms), *group.tombstones()]
        return Decision(erased, ((token, ErrorCode.NONE),))

    # ----------------------------------------------------------------- consumer requests

    def consumer_heartbeat(
        self, request: ConsumerGroupHeartbeatRequest, caller: Caller, token: Token, now_ms: int
    ) -> Decision:
        """Join, stay in or leave a consumer group; answered with a ConsumerGroupHeartbeatResponse."""
        return consumer_shard.heartbeat(self, request, caller, token, now_ms)

    # -------------------------------------------------------------------------- topics

    def topics_changed(self, delta: Delta, now_ms: int) -> Decision:
        """Offsets go with their topics; what groups make of a new image is their own affair."""
        gone = {topic.name for topic in delta.deleted_topics()}
        return Decision(self.offsets.topics_deleted(gone, now_ms) if gone else ())

    # -------------------------------------------------------------------------- replay

    def replay(self, key: bytes, value: bytes | None, transactional: Transactional | None) -> None:
        """Take in a record; one that cannot be read changes nothing."""
        version = records.key_version(key)
        if version in offset_records.KEY_VERSIONS:
            self._replay_offset(key, value, transactional)
        elif version == records.GROUP_KEY_VERSION:
            self._replay_classic(records.decode_group_key(key), value)
        elif version in consumer_records.KEY_VERSIONS:
            consumer_shard.replay(self, key, value)
        else:
            raise UnknownRecord(f"kind {version} of a group's records")

    def _replay_offset(
        self, key: bytes, value: bytes | None, transactional: Transactional | None
    ) -> None:
        group_id = self.offsets.replay(key, value, transactional)
        if value is not None and group_id not in self.groups:
            self._found(group_id)

    def place(
        self,
        positions: Sequence[tuple[OffsetKey, Committed]],
        transactional: Transactional | None,
        author: Author,
    ) -> None:
        """Take in positions, as `replay` does when it has read them; who committed them is known here."""
        for at, position in positions:
            if transactional is None:
                self.offsets.place(at, position, author)
            else:
                self.offsets.hold(at, position, transactional.producer_id)
            if at[0] not in self.groups:
                self._found(at[0])

    def _found(self, group_id: str) -> None:
        """Whoever commits without members makes a group that has nothing but offsets."""
        self.groups[group_id] = self.new_classic(group_id)

    def _replay_classic(self, group_id: str, value: bytes | None) -> None:
        group = self.groups.get(group_id)
        if value is None:
            if isinstance(group, ClassicGroup):
                group.die()
                del self.groups[group_id]
            return
        read = records.decode_group_value(value)
        if not isinstance(group, ClassicGroup):
            group = self.groups[group_id] = self.new_classic(group_id)
        group.replay(read)

    def new_classic(self, group_id: str) -> ClassicGroup:
        """A classic group without members."""
        return ClassicGroup(group_id, self.config, self.timers, self.arrivals, self.history)

    def replay_marker(self, producer_id: int, committed: bool) -> None:
        """A producer's transaction has ended, and the offsets in it count or are void."""
        self.offsets.replay_marker(producer_id, committed)

    def loaded(self, now_ms: int) -> None:
        """Everything has been replayed: members get their sessions anew."""
        self.offsets.loaded(now_ms)
        for group in self.groups.values():
            group.loaded(now_ms)

    # ---------------------------------------------------------------------------- time

    def clock_was_set(self, by_ms: int, now_ms: int) -> None:
        """Sessions and rebalances end when they would have; offsets expire by the time of day."""
        self.timers.clock_was_set(by_ms)
        self.arrivals.clock_was_set(by_ms)
        for group in self.groups.values():
            group.clock_was_set(by_ms)
        self.offsets.loaded(now_ms)

    def next_deadline_ms(self) -> int | None:
        """When `tick` may have something to do."""
        timers, check = self.timers.next_deadline_ms(), self.offsets.next_check_ms()
        if timers is None or check is None:
            return check if timers is None else timers
        return min(timers, check)

    def tick(self, now_ms: int) -> Decision:
        """Let every group do what is due, and forget offsets and groups whose time is over.

        A group whose decision has records decides again only when they are replayed.
        """
        written: list[KeyValue] = []
        replies: list[tuple[Token, object]] = []
        undos: list[Undo] = []
        replays: list[Callable[[], None]] = []
        decided: set[str] = set()
        check_ms = self.offsets.next_check_ms()
        must_forget = check_ms is not None and now_ms >= check_ms
        for key in self.timers.due(now_ms):
            what, group_id, member_id = key
            must_forget = must_forget or key == _FORGET
            group = self.groups.get(group_id)
            if group is None:
                continue
            if group_id in decided or len(written) >= _RECORDS_PER_TICK:
                self.timers.schedule(key, now_ms)
                break
            decision = group.due(what, member_id, now_ms)
            replies += decision.replies
            if decision.records:
                decided.add(group_id)
                written += decision.records
                undos += [] if decision.undo is None else [decision.undo]
                replays.append(decision.replay or partial(self._replay_all, decision.records))
        if must_forget and not decided:
            written = self._forget(now_ms)
            replays = [partial(self._replay_all, written)]
        elif must_forget:
            self.timers.schedule(_FORGET, now_ms)
        return Decision(
            written, replies, undo=partial(_undo_all, undos), replay=partial(_call_all, replays)
        )

    def _replay_all(self, written: Sequence[KeyValue]) -> None:
        for key, value in written:
            self.replay(key, value, None)

    def waits_for_quiet(self) -> bool:
        """Whether members have come to a group that waits for others."""
        return self.timers.wait_for_quiet

    def quiet(self, now_ms: int) -> Decision:
        """Nobody else comes: those who wait for others have waited long enough."""
        self.timers.quiet(now_ms)
        return self.tick(now_ms)

    def _forget(self, now_ms: int) -> list[KeyValue]:
        """Offsets whose time is over, and groups that are left with neither members nor offsets."""
        expired = self.offsets.expired(now_ms, self.groups, self.topics.image.topics)
        if expired:
            # Which groups they leave with nothing is known when they are replayed.
            self.timers.schedule(_FORGET, now_ms)
            return expired
        return [
            tombstone
            for group in self.groups.values()
            if group.is_empty and not self.offsets.has_any(group.group_id)
            for tombstone in group.tombstones()
        ]

    def parked(self) -> Sequence[Token]:
        """Everybody who waits here."""
        return [token for group in self.groups.values() for token in group.parked()]


def _call_all(replays: Sequence[Callable[[], None]]) -> None:
    for replay in replays:
        replay()


def _undo_all(undos: Sequence[Undo], refused: ApiError, now_ms: int) -> Decision:
    """Several groups have decided, and the log refused all of it."""
    undone = [undo(refused, now_ms) for undo in undos]
    return Decision(
        [record for each in undone for record in each.records],
        [reply for each in undone for reply in each.replies],
        undo=partial(_undo_all, [each.undo for each in undone if each.undo is not None]),
    )


def _missing(group_id: str) -> int:
    return ErrorCode.UNKNOWN_MEMBER_ID if group_id else ErrorCode.INVALID_GROUP_ID

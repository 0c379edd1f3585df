"""Pure: what every kind of group can be asked, whatever protocol its members speak."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import NamedTuple, Protocol

from ottla.coordination.decision import Decision, KeyValue, Token
from ottla.coordination.groups.offset_rules import OffsetGroup
from ottla.protocol.apis.heartbeat import HeartbeatRequest
from ottla.protocol.apis.join_group import JoinGroupRequest
from ottla.protocol.apis.leave_group import MemberIdentity
from ottla.protocol.apis.sync_group import SyncGroupRequest


class Caller(NamedTuple):
    """Who sent a request: its name for itself, its address, the version it speaks, and an id in case it needs one."""

    client_id: str
    host: str
    version: int
    fresh_id: str = ""


class Group(OffsetGroup, Protocol):
    """A group of either kind; the classic requests are part of it, since members of both kinds may send them."""

    group_id: str

    @property
    def members(self) -> Sized:
        """Everybody who is in it."""

    @property
    def type_name(self) -> str:
        """`classic` or `consumer`, as ListGroups says it."""

    @property
    def state_name(self) -> str:
        """The state in Kafka's words."""

    @property
    def protocol_type(self) -> str:
        """`consumer`, `connect` or the like; empty while nobody has said."""

    @property
    def is_empty(self) -> bool:
        """Whether nobody is or becomes a member, so that it may be deleted."""

    def join(
        self, request: JoinGroupRequest, caller: Caller, token: Token, now_ms: int
    ) -> Decision:
        """Become a member, or join the next generation; answered with a JoinGroupResponse."""

    def sync(
        self, request: SyncGroupRequest, caller: Caller, token: Token, now_ms: int
    ) -> Decision:
        """Hand out or fetch an assignment; answered with a SyncGroupResponse."""

    def heartbeat(self, request: HeartbeatRequest, token: Token, now_ms: int) -> Decision:
        """A member lives; answered with an error code."""

    def leave(self, members: Sequence[MemberIdentity], token: Token, now_ms: int) -> Decision:
        """Members go; answered with an error code for each, or an ApiError for all."""

    def due(self, what: str, member_id: str, now_ms: int) -> Decision:
        """A timer of this group has come: `(what, group_id, member_id)` in the shard's timers."""

    def tombstones(self) -> list[KeyValue]:
        """What erases the group from the log, offsets apart."""

    def loaded(self, now_ms: int) -> None:
        """The log has been replayed: sessions of the members begin now."""

    def clock_was_set(self, by_ms: int) -> None:
        """What the group counts from, apart from its timers and the log, moves with the clock."""

    def parked(self) -> list[Token]:
        """Everybody who waits for the group."""

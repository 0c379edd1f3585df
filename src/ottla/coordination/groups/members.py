"""Pure: the members of one classic group: who they are, what they can do, who leads, and who waits for what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from ottla.coordination.decision import Token
from ottla.coordination.groups.group import Caller
from ottla.coordination.groups.records import GroupMember
from ottla.protocol.apis.join_group import JoinGroupRequest

Protocols: TypeAlias = tuple[tuple[str, bytes], ...]
"""What a member can do, as (name, metadata), what it likes best first."""

_UNKNOWN_TIMEOUT_MS = -1


class Member:
    """One member; the tokens are those of a join and of a sync that wait for the others."""

    __slots__ = (
        "assignment", "client_host", "client_id", "instance_id", "is_new", "join_token", "member_id", "protocols",
        "rebalance_timeout_ms", "session_timeout_ms", "sync_token",
    )  # fmt: skip

    def __init__(self, member_id: str, instance_id: str | None) -> None:
        self.member_id = member_id
        self.instance_id = instance_id
        self.client_id = self.client_host = ""
        self.rebalance_timeout_ms = self.session_timeout_ms = 0
        self.protocols: Protocols = ()
        self.assignment = b""
        # Until its first join is answered it does not know its id and cannot send heartbeats.
        self.is_new = False
        self.join_token: Token | None = None
        self.sync_token: Token | None = None

    def introduce(self, request: JoinGroupRequest, caller: Caller) -> None:
        """Take over what the member says of itself, its protocols apart."""
        self.client_id, self.client_host = caller.client_id, caller.host
        self.session_timeout_ms = request.session_timeout_ms
        self.rebalance_timeout_ms = (
            request.session_timeout_ms
            if request.rebalance_timeout_ms == _UNKNOWN_TIMEOUT_MS
            else request.rebalance_timeout_ms
        )

    def metadata(self, protocol: str | None) -> bytes:
        """What the member said along with a protocol."""
        for name, data in self.protocols:
            if name == protocol:
                return data
        return b""

    def written(self, protocol: str | None, assignment: bytes) -> GroupMember:
        """The member as the log keeps it."""
        return GroupMember(
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            client_id=self.client_id,
            client_host=self.client_host,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            session_timeout_ms=self.session_timeout_ms,
            subscription=self.metadata(protocol),
            assignment=assignment,
        )

    @staticmethod
    def read(written: GroupMember, protocol: str | None) -> Member:
        """The member as the log has kept it: it can do what it did."""
        member = Member(written.member_id, written.group_instance_id)
        member.client_id, member.client_host = written.client_id, written.client_host
        member.rebalance_timeout_ms = written.rebalance_timeout_ms or written.session_timeout_ms
        member.session_timeout_ms = written.session_timeout_ms
        member.protocols = ((protocol or "", written.subscription),)
        member.assignment = written.assignment
        return member


class Roster:
    """The members of a group in the order they came; counts are kept so that a join does not look at all others."""

    __slots__ = ("_awaiting", "_can", "_members", "instances", "leader_id")

    def __init__(self) -> None:
        self._members: dict[str, Member] = {}
        self._can: Counter[str] = Counter()
        self._awaiting = 0
        self.instances: dict[str, str] = {}
        self.leader_id: str | None = None

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[Member]:
        return iter(self._members.values())

    def __contains__(self, member_id: object) -> bool:
        return member_id in self._members

    def get(self, member_id: str) -> Member | None:
        """The member of that id."""
        return self._members.get(member_id)

    @property
    def awaiting(self) -> int:
        """How many have joined and wait for the others."""
        return self._awaiting

    def add(self, member: Member) -> None:
        """Let a member in; the first one leads."""
        self._members[member.member_id] = member
        if member.instance_id is not None:
            self.instances[member.instance_id] = member.member_id
        self._count(member.protocols, 1)
        if self.leader_id is None:
            self.leader_id = member.member_id

    def remove(self, member: Member) -> list[Token]:
        """Let a member go; the tokens it waited with."""
        tokens = [*self.release_join(member), *self.release_sync(member)]
        del self._members[member.member_id]
        if member.instance_id is not None:
            self.instances.pop(member.instance_id, None)
        self._count(member.protocols, -1)
        if self.leader_id == member.member_id:
            self.leader_id = next(iter(self._members), None)
        return tokens

    def rename(self, member: Member, member_id: str) -> None:
        """A static member comes back under a new id, and keeps its place and its role."""
        renamed = {member_id if m is member else m.member_id: m for m in self}
        if self.leader_id == member.member_id:
            self.leader_id = member_id
        member.member_id = member_id
        self._members = renamed
        if member.instance_id is not None:
            self.instances[member.instance_id] = member_id

    def can_do(self, member: Member, protocols: Protocols) -> None:
        """The member says anew what it can do."""
        self._count(member.protocols, -1)
        member.protocols = protocols
        self._count(protocols, 1)

    def _count(self, protocols: Protocols, by: int) -> None:
        # Not with the methods of a Counter, which take ten times as long for so few.
        for name, _ in protocols:
            self._can[name] += by

    def hold_join(self, member: Member, token: Token) -> list[Token]:
        """The member has joined; the token of an earlier try, which nobody waits for any more."""
        overtaken = self.release_join(member)
        member.join_token = token
        self._awaiting += 1
        return overtaken

    def release_join(self, member: Member) -> list[Token]:
        """The join is over; its token, if one waited."""
        token, member.join_token = member.join_token, None
        if token is None:
            return []
        self._awaiting -= 1
        return [token]

    def release_sync(self, member: Member) -> list[Token]:
        """The sync is over; its token, if one waited."""
        token, member.sync_token = member.sync_token, None
        return [] if token is None else [token]

    def share_one_of(self, names: Iterable[str]) -> bool:
        """Whether all members can do at least one of these."""
        return any(self._can[name] == len(self._members) for name in names)

    def choose_protocol(self) -> str:
        """Each member votes for what it likes best among what all can do; the first to get most votes wins."""
        everybody = len(self._members)
        votes: Counter[str] = Counter()
        for member in self:
            liked = (name for name, _ in member.protocols if self._can[name] >= everybody)
            votes[next(liked, "")] += 1
        return max(votes, key=lambda name: votes[name])

    def elect_leader(self) -> bool:
        """Make sure that the leader is one who has joined; False if nobody has."""
        leader = self._members.get(self.leader_id or "")
        if leader is None or leader.join_token is None:
            joined = next((member for member in self if member.join_token is not None), None)
            if joined is None:
                return False
            self.leader_id = joined.member_id
        return True

    def longest_rebalance_timeout_ms(self) -> int:
        """How long the slowest member may take to join anew."""
        return max((member.rebalance_timeout_ms for member in self), default=0)


def protocols_of(request: JoinGroupRequest) -> Protocols:
    """What a joining member can do; a name given twice counts once."""
    named = {protocol.name: protocol.metadata for protocol in request.protocols}
    return tuple(named.items())

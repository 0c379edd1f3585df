"""Pure: one member of a consumer group (KIP-848): what it said of itself and what it owns, and both as records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias
from uuid import UUID

from ottla.coordination.decision import KeyValue
from ottla.coordination.groups.consumer_records import (
    ClassicMember,
    ClassicProtocol,
    CurrentValue,
    Kind,
    MemberValue,
    OwnedPartitions,
    TargetValue,
    encode_current,
    encode_target,
    encode_value,
    member_record,
)
from ottla.coordination.groups.members import Protocols

Partitions: TypeAlias = Mapping[UUID, frozenset[int]]
"""Partitions by the id of their topic; no topic is empty."""

Owned: TypeAlias = Mapping[UUID, Mapping[int, int]]
"""The same, each partition with the epoch since which it is owned."""

NOTHING: Final[Mapping[UUID, Any]] = MappingProxyType({})
"""No partitions."""

JOIN_EPOCH: Final = 0
LEAVE_EPOCH: Final = -1
STATIC_LEAVE_EPOCH: Final = -2


class MemberState(IntEnum):
    """Where a member is between what it owns and what it shall own; the numbers are those of the log.

    Stable
        It owns what the target assignment of its epoch gives it.

    UnrevokedPartitions
        It has been told to give up partitions and has not said yet that it did. It keeps its epoch, and nobody else
        gets the partitions. If it takes longer than its rebalance time-out it is removed.

    UnreleasedPartitions
        It is in the epoch of the target assignment, but others have not given up all that it shall own.

    Unknown
        A newer version wrote a state that is not known here: the member must begin anew.
    """

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2
    UNKNOWN = 127


_STATES: Final = frozenset(MemberState)


@dataclass(frozen=True, slots=True)
class ClassicSide:
    """What is known of a member that speaks the classic protocol."""

    session_timeout_ms: int
    protocols: Protocols


class Member(NamedTuple):
    """A member as it is at one moment; a change makes another one."""

    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topics: frozenset[str] = frozenset()
    pattern: str | None = None
    rebalance_timeout_ms: int = -1
    server_assignor: str | None = None
    classic: ClassicSide | None = None
    epoch: int = 0
    previous_epoch: int = 0
    state: MemberState = MemberState.STABLE
    assigned: Owned = NOTHING
    pending_revocation: Owned = NOTHING

    def is_reconciled_to(self, epoch: int) -> bool:
        """Whether it owns all and only what the target assignment of `epoch` gives it."""
        return self.state is MemberState.STABLE and self.epoch == epoch

    def owned_since(self, topic_id: UUID, partition: int) -> int | None:
        """The epoch since which it owns a partition, one that it has yet to give up included."""
        epoch = self.assigned.get(topic_id, {}).get(partition)
        if epoch is None:
            epoch = self.pending_revocation.get(topic_id, {}).get(partition)
        return epoch

    def moved(
        self,
        epoch: int,
        previous_epoch: int,
        state: MemberState,
        assigned: Owned,
        pending_revocation: Owned,
    ) -> Member:
        """The same member in another epoch, or with other partitions."""
        moved = (epoch, previous_epoch, state, assigned, pending_revocation)
        # Not _replace, which takes three times as long.
        return tuple.__new__(Member, self[: -len(moved)] + moved)

    def released(self) -> Member:
        """A static member that goes for a while: its place and its partitions wait for it."""
        since_zero = {
            topic_id: dict.fromkeys(found, 0) for topic_id, found in self.assigned.items()
        }
        return self._replace(
            epoch=STATIC_LEAVE_EPOCH, assigned=since_zero, pending_revocation=NOTHING
        )

    def subscription_record(self, group_id: str) -> KeyValue:
        """What it said of itself, for the log."""
        said = _encode_said(self[_SAID])
        return member_record(Kind.MEMBER, group_id, self.member_id, said)

    def current_record(self, group_id: str) -> KeyValue:
        """What it owns, for the log."""
        epochs = self.epoch, self.previous_epoch
        value = encode_current(epochs, self.state, self.assigned, self.pending_revocation)
        return member_record(Kind.CURRENT, group_id, self.member_id, value)

    def with_subscription(self, value: MemberValue) -> Member:
        """The member after such a record."""
        classic = value.classic_member_metadata
        return self._replace(
            instance_id=value.instance_id,
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            topics=frozenset(value.subscribed_topic_names),
            pattern=value.subscribed_topic_regex,
            rebalance_timeout_ms=value.rebalance_timeout_ms,
            server_assignor=value.server_assignor,
            classic=None
            if classic is None
            else ClassicSide(
                classic.session_timeout_ms,
                tuple((each.name, each.metadata) for each in classic.supported_protocols),
            ),
        )

    def with_current(self, value: CurrentValue | None) -> Member:
        """The member after such a record; without one it owns nothing and has to join."""
        if value is None:
            return self._replace(
                epoch=LEAVE_EPOCH,
                previous_epoch=LEAVE_EPOCH,
                state=MemberState.STABLE,
                assigned=NOTHING,
                pending_revocation=NOTHING,
            )
        return self._replace(
            epoch=value.member_epoch,
            previous_epoch=value.previous_member_epoch,
            state=MemberState(value.state) if value.state in _STATES else MemberState.UNKNOWN,
            assigned=_read(value.assigned_partitions),
            pending_revocation=_read(value.partitions_pending_revocation),
        )


_SAID: Final = slice(Member._fields.index("instance_id"), Member._fields.index("epoch"))
"""What a member says of itself, among its fields."""


@lru_cache(maxsize=4)
def _encode_said(said: tuple[Any, ...]) -> bytes:
    """Few, since they may be large; members that start together say the same."""
    member = Member("", *said)
    classic = None
    if member.classic is not None:
        classic = ClassicMember(
            session_timeout_ms=member.classic.session_timeout_ms,
            supported_protocols=[
                ClassicProtocol(name=name, metadata=data) for name, data in member.classic.protocols
            ],
        )
    value = MemberValue(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topics),
        subscribed_topic_regex=member.pattern,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        server_assignor=member.server_assignor,
        classic_member_metadata=classic,
    )
    return encode_value(value)


def target_record(group_id: str, member_id: str, target: Partitions) -> KeyValue:
    """What a member shall own, for the log."""
    return member_record(Kind.TARGET, group_id, member_id, encode_target(target))


def target_of(value: TargetValue) -> Partitions:
    """What such a record says."""
    return {each.topic_id: frozenset(each.partitions) for each in value.topic_partitions}


def owned_since(partitions: Partitions, epoch: int) -> Owned:
    """Partitions that are owned since one and the same epoch."""
    return {topic_id: dict.fromkeys(sorted(found), epoch) for topic_id, found in partitions.items()}


def _read(written: Iterable[OwnedPartitions]) -> Owned:
    """Kafka before 4.2 wrote no epochs: such partitions are owned since ever."""
    return {
        each.topic_id: dict(zip(each.partitions, each.assignment_epochs, strict=True))
        if len(each.assignment_epochs) == len(each.partitions)
        else dict.fromkeys(each.partitions, 0)
        for each in written
    }

"""Pure: a consumer group whose last member of the consumer protocol goes becomes a classic group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ottla.cluster.image import Image
from ottla.coordination.decision import KeyValue
from ottla.coordination.groups.consumer_member import Member, Owned, Partitions
from ottla.coordination.groups.members import Protocols
from ottla.coordination.groups.records import GroupMember, GroupValue, group_record
from ottla.protocol.consumer_protocol import CONSUMER, encode_partitions

if TYPE_CHECKING:
    from ottla.coordination.groups.consumer import ConsumerGroup

DOWNGRADED: Final = "downgraded"
"""The timer that makes a group that has just become classic gather its members, once it is in the log."""

_DOWNGRADES: Final = frozenset({"downgrade", "bidirectional"})


def is_due(group: ConsumerGroup, leaving: Sequence[Member]) -> bool:
    """Whether only members that speak the classic protocol would be left, and the settings let them go back to it."""
    gone = {member.member_id for member in leaving}
    left = [member for member in group.members.values() if member.member_id not in gone]
    return (
        bool(left)
        and all(member.classic is not None for member in left)
        and group.config.group_consumer_migration_policy in _DOWNGRADES
        and len(left) <= group.config.group_max_size
    )


def records(group: ConsumerGroup, leaving: Sequence[Member], now_ms: int) -> list[KeyValue]:
    """The end of the consumer group, and a classic group in which everybody owns what it owned."""
    gone = {member.member_id for member in leaving}
    left = [member for member in group.members.values() if member.member_id not in gone]
    for member in left:
        group.cancel_timers(member.member_id)
    group.timers.schedule((DOWNGRADED, group.group_id, ""), now_ms)
    group.history.note(group.group_id, now_ms, "converted", detail="classic")
    protocol = _chosen([_protocols(member) for member in left])
    value = GroupValue(
        protocol_type=CONSUMER,
        generation=group.epoch,
        protocol=protocol,
        leader=left[0].member_id,
        state_timestamp_ms=now_ms,
        members=[_classic(member, protocol, group.image) for member in left],
    )
    return [*group.tombstones(), group_record(group.group_id, value)]


def _protocols(member: Member) -> Protocols:
    return () if member.classic is None else member.classic.protocols


def _chosen(members: Sequence[Protocols]) -> str:
    """What most like best among what all can do."""
    can = Counter(name for protocols in members for name, _ in protocols)
    votes = Counter(
        next((name for name, _ in protocols if can[name] == len(members)), "")
        for protocols in members
    )
    return max(votes, key=lambda name: votes[name])


def _classic(member: Member, protocol: str, image: Image) -> GroupMember:
    protocols = dict(_protocols(member))
    return GroupMember(
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        session_timeout_ms=0 if member.classic is None else member.classic.session_timeout_ms,
        subscription=protocols.get(protocol, b""),
        assignment=classic_assignment(member, image),
    )


def classic_assignment(member: Member, image: Image) -> bytes:
    """What a member owns, as consumers of the classic protocol read it, in the version that it writes."""
    [(_, subscription), *_] = _protocols(member)
    version = int.from_bytes(subscription[:2], "big", signed=True)
    return encode_partitions(by_name(member.assigned, image), max(version, 0))


def by_name(owned: Owned | Partitions, image: Image) -> list[tuple[str, list[int]]]:
    """Partitions by the names of their topics; those of a topic that is gone are left out."""
    return [
        (topic.name, sorted(partitions))
        for topic_id, partitions in owned.items()
        if (topic := image.topics_by_id.get(topic_id)) is not None
    ]

"""Pure: how the leader of a classic group shares partitions out: range, roundrobin, sticky, cooperative-sticky.

The first two give what Kafka's give, so that groups of mixed clients agree. The sticky ones promise
what Kafka's promise: nobody has two partitions more than a member who could take one of them, and
partitions stay where they are as long as that holds. The leader alone decides, so nothing else has
to be equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple, TypeAlias

from ottla.base.errors import ProtocolError
from ottla.base.ids import TopicPartition
from ottla.protocol.consumer_protocol import Subscription, TopicPartitions
from ottla.protocol.decoders import decoder
from ottla.protocol.encoders import encoder
from ottla.protocol.schema import Struct, array, int32

Shares: TypeAlias = dict[str, list[TopicPartition]]
"""The partitions of each member."""


class Member(NamedTuple):
    """What a member wants, and what it says it owns since which generation."""

    topics: frozenset[str]
    owned: tuple[TopicPartition, ...] = ()
    generation: int = -1
    instance_id: str | None = None


Members: TypeAlias = Mapping[str, Member]


def assign_range(partition_counts: Mapping[str, int], members: Members) -> Shares:
    """Each topic by itself: contiguous ranges, the first members get one more if it does not come out even."""
    shares: Shares = {member: [] for member in members}
    ordered = _in_order(members)
    for topic, count in sorted(partition_counts.items()):
        takers = [member for member in ordered if topic in members[member].topics]
        if not takers:
            continue
        each, more = divmod(count, len(takers))
        start = 0
        for place, member in enumerate(takers):
            stop = start + each + (place < more)
            shares[member] += (TopicPartition(topic, n) for n in range(start, stop))
            start = stop
    return shares


def assign_round_robin(partition_counts: Mapping[str, int], members: Members) -> Shares:
    """All partitions of all topics in turn."""
    shares: Shares = {member: [] for member in members}
    ordered, turn = _in_order(members), 0
    for partition in _all(partition_counts):
        if not any(partition.topic in member.topics for member in members.values()):
            continue
        while partition.topic not in members[ordered[turn % len(ordered)]].topics:
            turn += 1
        shares[ordered[turn % len(ordered)]].append(partition)
        turn += 1
    return shares


def assign_sticky(partition_counts: Mapping[str, int], members: Members) -> Shares:
    """As even as can be, with as few moves as that takes."""
    takers = {
        topic: [member for member in _in_order(members) if topic in members[member].topics]
        for topic in partition_counts
    }
    owners = _kept(partition_counts, members)
    loads = dict.fromkeys(members, 0)
    for owner in owners.values():
        loads[owner] += 1
    free = [each for each in _all(partition_counts) if each not in owners and takers[each.topic]]
    # Those that few can take first: they leave the least choice.
    for partition in sorted(free, key=lambda each: (len(takers[each.topic]), each)):
        owners[partition] = taker = min(takers[partition.topic], key=loads.__getitem__)
        loads[taker] += 1
    _even_out(owners, loads, takers)
    shares: Shares = {member: [] for member in members}
    for partition, owner in sorted(owners.items()):
        shares[owner].append(partition)
    return shares


def assign_cooperative_sticky(partition_counts: Mapping[str, int], members: Members) -> Shares:
    """The same, but what moves is given to nobody until its owner has let go of it (KIP-429)."""
    shares = assign_sticky(partition_counts, members)
    owned_by = {each: name for name, member in members.items() for each in member.owned}
    return {
        name: [each for each in partitions if owned_by.get(each, name) == name]
        for name, partitions in shares.items()
    }


def _even_out(
    owners: dict[TopicPartition, str], loads: dict[str, int], takers: Mapping[str, list[str]]
) -> None:
    moved = True
    while moved:  # each move makes the sum of the squares of the loads smaller: it ends
        moved = False
        for partition in sorted(owners):
            owner = owners[partition]
            least = min(takers[partition.topic], key=loads.__getitem__)
            if loads[owner] > loads[least] + 1:
                owners[partition] = least
                loads[owner] -= 1
                loads[least] += 1
                moved = True


def _kept(partition_counts: Mapping[str, int], members: Members) -> dict[TopicPartition, str]:
    """Who owns what already; of two who claim the same, the one who got it later."""
    claims: dict[TopicPartition, list[tuple[int, str]]] = {}
    for name, member in members.items():
        for each in member.owned:
            exists = each.partition < partition_counts.get(each.topic, 0)
            if exists and each.topic in member.topics:
                claims.setdefault(each, []).append((member.generation, name))
    kept = {}
    for partition, claimed in claims.items():
        latest = max(generation for generation, _ in claimed)
        names = [name for generation, name in claimed if generation == latest]
        if len(names) == 1:
            kept[partition] = names[0]
    return kept


def _in_order(members: Members) -> list[str]:
    """Static members by instance id, then the others by member id: the same order after a restart."""

    def place(name: str) -> tuple[bool, str]:
        instance_id = members[name].instance_id
        return instance_id is None, instance_id or name

    return sorted(members, key=place)


def _all(partition_counts: Mapping[str, int]) -> Iterable[TopicPartition]:
    for topic, count in sorted(partition_counts.items()):
        for partition in range(count):
            yield TopicPartition(topic, partition)


class StickyUserData(Struct):
    """What a member of the (eager) sticky assignor tells the next leader."""

    previous_assignment: list[TopicPartitions] = array(TopicPartitions)
    generation: int = int32(-1, since=1)


class Assignor(NamedTuple):
    """A way of sharing out; `eager` ones need everybody to let go of everything first."""

    name: str
    assign: Callable[[Mapping[str, int], Members], Shares]
    eager: bool = True


ASSIGNORS: Final = {
    assignor.name: assignor
    for assignor in (
        Assignor("range", assign_range),
        Assignor("roundrobin", assign_round_robin),
        Assignor("sticky", assign_sticky),
        Assignor("cooperative-sticky", assign_cooperative_sticky, eager=False),
    )
}


def subscription_of(
    name: str, topics: Iterable[str], owned: Iterable[TopicPartition], generation: int
) -> Subscription:
    """What a member tells its leader when it offers an assignor."""
    grouped = grouped_by_topic(owned)
    user_data = None
    if name == "sticky":
        out = bytearray()
        data = StickyUserData(previous_assignment=grouped, generation=generation)
        encoder(StickyUserData, 1, False)(data, out)
        user_data = bytes(out)
    return Subscription(
        topics=sorted(topics),
        user_data=user_data,
        owned_partitions=grouped,
        generation=generation,
    )


def member_of(name: str, subscription: Subscription, instance_id: str | None) -> Member:
    """What a leader understands of a member's subscription."""
    owned, generation = subscription.owned_partitions, subscription.generation
    if name == "sticky" and subscription.user_data:
        data = memoryview(subscription.user_data)
        try:
            told = decoder(StickyUserData, 1, False)(data, 0, len(data))
            owned, generation = told.previous_assignment, told.generation
        except ProtocolError:
            owned = []  # of a client that writes something else: it owns nothing worth keeping
    partitions = (TopicPartition(each.topic, n) for each in owned for n in each.partitions)
    return Member(frozenset(subscription.topics), tuple(partitions), generation, instance_id)


def grouped_by_topic(partitions: Iterable[TopicPartition]) -> list[TopicPartitions]:
    """Partitions as the consumer protocol lists them."""
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        topics.setdefault(topic, []).append(partition)
    return [TopicPartitions(topic=name, partitions=numbers) for name, numbers in topics.items()]

"""Sharing out partitions: as Kafka's clients do where they must agree, evenly and sticky where they promise that."""

from collections.abc import Mapping
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor

from ottla.base.ids import TopicPartition
from ottla.client.assignors import (
    ASSIGNORS,
    Member,
    Members,
    Shares,
    assign_cooperative_sticky,
    assign_range,
    assign_round_robin,
    assign_sticky,
    member_of,
    subscription_of,
)
from ottla.protocol.consumer_protocol import decode_subscription, encode_subscription

TOPICS = ["a", "b", "c"]
counts = st.dictionaries(st.sampled_from(TOPICS), st.integers(1, 6), min_size=1)
topic_sets = st.sets(st.sampled_from(TOPICS), min_size=1).map(frozenset)
members = st.dictionaries(
    st.text("abcxyz", min_size=1, max_size=3), topic_sets.map(Member), min_size=1, max_size=6
)


def theirs(assignor: type, partition_counts: Mapping[str, int], group: Members) -> Shares:
    """What kafka-python's assignor makes of it."""
    cluster = SimpleNamespace(
        partitions_for_topic=lambda topic: (
            set(range(partition_counts[topic])) if topic in partition_counts else None
        )
    )
    told = [
        SimpleNamespace(
            member_id=name,
            group_instance_id=None,
            metadata=SimpleNamespace(topics=sorted(member.topics)),
        )
        for name, member in group.items()
    ]
    return {
        name: [
            TopicPartition(topic, n)
            for topic, numbers in assigned.assigned_partitions
            for n in numbers
        ]
        for name, assigned in assignor.assign(cluster, told).items()  # type: ignore[attr-defined]
    }


def as_sets(shares: Shares) -> dict[str, set[TopicPartition]]:
    return {name: set(partitions) for name, partitions in shares.items()}


@given(counts, members)
def test_range_is_that_of_kafka_python(partition_counts: dict[str, int], group: Members) -> None:
    ours = as_sets(assign_range(partition_counts, group))
    assert ours == as_sets(theirs(RangePartitionAssignor, partition_counts, group))


@given(counts, topic_sets, st.sets(st.text("abc", min_size=1, max_size=3), min_size=1))
def test_round_robin_is_that_of_kafka_python(
    partition_counts: dict[str, int], topics: frozenset[str], names: set[str]
) -> None:
    group = {name: Member(topics) for name in names}
    ours = as_sets(assign_round_robin(partition_counts, group))
    assert ours == as_sets(theirs(RoundRobinPartitionAssignor, partition_counts, group))


def test_static_members_come_first_so_that_a_restart_changes_nothing() -> None:
    group = {
        "b": Member(frozenset("t")),
        "z": Member(frozenset("t"), instance_id="one"),
        "a": Member(frozenset("t")),
    }
    assert assign_range({"t": 3}, group) == {
        "z": [TopicPartition("t", 0)],
        "a": [TopicPartition("t", 1)],
        "b": [TopicPartition("t", 2)],
    }


@given(counts, members, st.sampled_from(sorted(ASSIGNORS)))
def test_every_partition_somebody_wants_has_one_owner(
    partition_counts: dict[str, int], group: Members, name: str
) -> None:
    shares = ASSIGNORS[name].assign(partition_counts, group)
    given_out = [each for partitions in shares.values() for each in partitions]
    wanted = {topic for member in group.values() for topic in member.topics}
    expected = {
        TopicPartition(topic, n)
        for topic, count in partition_counts.items()
        if topic in wanted
        for n in range(count)
    }
    assert len(given_out) == len(expected)
    assert set(given_out) == expected
    assert all(p.topic in group[owner].topics for owner, ps in shares.items() for p in ps)


def assert_balanced(shares: Shares, group: Members) -> None:
    """Nobody could take a partition from a member that has two more."""
    for owner, partitions in shares.items():
        for other, theirs_ in shares.items():
            movable = [p for p in partitions if p.topic in group[other].topics]
            assert not movable or len(partitions) <= len(theirs_) + 1, (owner, other)


@given(counts, members)
def test_sticky_is_balanced(partition_counts: dict[str, int], group: Members) -> None:
    assert_balanced(assign_sticky(partition_counts, group), group)


@given(counts, members, st.data())
def test_sticky_keeps_what_it_can_after_a_change(
    partition_counts: dict[str, int], group: dict[str, Member], data: st.DataObject
) -> None:
    before = assign_sticky(partition_counts, group)
    told = {name: m._replace(owned=tuple(before[name]), generation=1) for name, m in group.items()}
    assert assign_sticky(partition_counts, told) == before
    told.pop(data.draw(st.sampled_from(sorted(told))))
    told["newcomer"] = Member(frozenset(TOPICS))
    after = assign_sticky(partition_counts, told)
    assert_balanced(after, told)
    # A member that stays lets go only of what somebody else had to get.
    for name, member in told.items():
        if len(after[name]) < len(member.owned):
            assert set(after[name]) <= set(member.owned)


def test_of_two_owners_the_later_one_keeps_a_partition() -> None:
    both = (TopicPartition("t", 0), TopicPartition("t", 1))
    group = {
        "old": Member(frozenset("t"), both, generation=3),
        "new": Member(frozenset("t"), both[:1], generation=4),
    }
    assert assign_sticky({"t": 2}, group) == {"new": [both[0]], "old": [both[1]]}


def test_a_partition_that_moves_is_nobodys_for_one_generation() -> None:
    owned = tuple(TopicPartition("t", n) for n in range(4))
    group = {"a": Member(frozenset("t"), owned, 1), "b": Member(frozenset("t"))}
    first = assign_cooperative_sticky({"t": 4}, group)
    assert (len(first["a"]), first["b"]) == (2, [])
    group["a"] = group["a"]._replace(owned=tuple(first["a"]))
    second = assign_cooperative_sticky({"t": 4}, group)
    assert (second["a"], len(second["b"])) == (first["a"], 2)


@given(st.sampled_from(sorted(ASSIGNORS)), topic_sets, st.integers(-1, 99))
def test_what_a_member_says_is_what_a_leader_hears(
    name: str, topics: frozenset[str], generation: int
) -> None:
    owned = (TopicPartition("a", 0), TopicPartition("a", 5), TopicPartition("b", 1))
    said = encode_subscription(subscription_of(name, topics, owned, generation))
    heard = member_of(name, decode_subscription(said), "instance")
    assert heard == Member(topics, owned, generation, "instance")


def test_user_data_of_somebody_else_is_passed_over() -> None:
    subscription = subscription_of("sticky", ["t"], [], 3)
    subscription.user_data = b"\x7f\xff"
    assert member_of("sticky", subscription, None).owned == ()

"""Both assignors: everybody gets only what it wants, and every partition that somebody wants is given once."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.coordination.groups.assignors.spec import Assignment, MemberSpec
from ottla.coordination.groups.assignors.table import ASSIGNORS

TOPICS = [UUID(int=n) for n in range(1, 5)]
COUNTS = st.fixed_dictionaries({topic: st.integers(1, 9) for topic in TOPICS})
WANTED = st.sets(st.sampled_from(TOPICS)).map(frozenset)
GIVEN = st.dictionaries(
    st.sampled_from(TOPICS), st.frozensets(st.integers(0, 9), min_size=1, max_size=4), max_size=3
)
MEMBERS = st.dictionaries(
    st.sampled_from([f"m{n}" for n in range(8)]),
    st.builds(MemberSpec, WANTED, GIVEN, instance_id=st.none()),
    min_size=1,
)


def partitions(assignment: Assignment, member_id: str) -> set[tuple[UUID, int]]:
    return {(t, p) for t, found in assignment[member_id].items() for p in found}


def loads(assignment: Assignment) -> dict[str, int]:
    return {member_id: len(partitions(assignment, member_id)) for member_id in assignment}


@pytest.mark.parametrize("name", ASSIGNORS)
@given(members=MEMBERS, counts=COUNTS)
def test_every_wanted_partition_is_given_once_to_somebody_who_wants_it(
    name: str, members: dict[str, MemberSpec], counts: dict[UUID, int]
) -> None:
    assignment = ASSIGNORS[name](members, counts)
    assert assignment.keys() == members.keys()
    handed_out = [each for member_id in assignment for each in partitions(assignment, member_id)]
    wanted = frozenset().union(*(spec.topics for spec in members.values()))
    assert sorted(handed_out) == sorted((t, p) for t in wanted for p in range(counts[t]))
    for member_id, spec in members.items():
        assert assignment[member_id].keys() <= spec.topics
        assert all(assignment[member_id].values()), "no topic is empty"


@given(given=st.lists(GIVEN, min_size=1, max_size=8), counts=COUNTS)
def test_uniform_members_that_want_the_same_differ_by_one_at_most(
    given: list[dict[UUID, frozenset[int]]], counts: dict[UUID, int]
) -> None:
    members = {f"m{n}": MemberSpec(frozenset(TOPICS), each) for n, each in enumerate(given)}
    found = loads(ASSIGNORS["uniform"](members, counts)).values()
    assert max(found) - min(found) <= 1


@given(members=MEMBERS, counts=COUNTS)
def test_uniform_cannot_be_made_more_even_by_moving_one_partition(
    members: dict[str, MemberSpec], counts: dict[UUID, int]
) -> None:
    assignment = ASSIGNORS["uniform"](members, counts)
    found = loads(assignment)
    for giver in members:
        for topic_id in assignment[giver]:
            for taker, spec in members.items():
                if topic_id in spec.topics:
                    assert found[giver] - found[taker] <= 1


@given(size=st.integers(1, 8), joins=st.booleans(), counts=COUNTS)
def test_uniform_moves_no_more_than_it_must(
    size: int, joins: bool, counts: dict[UUID, int]
) -> None:
    uniform, wanted = ASSIGNORS["uniform"], frozenset(TOPICS)
    before = uniform({f"m{n}": MemberSpec(wanted, {}) for n in range(size)}, counts)
    after_size = size + 1 if joins else max(size - 1, 1)
    members = {f"m{n}": MemberSpec(wanted, before.get(f"m{n}", {})) for n in range(after_size)}
    after = uniform(members, counts)
    share = sum(counts.values()) // after_size
    for member_id in before.keys() & after.keys():
        old, new = partitions(before, member_id), partitions(after, member_id)
        # Whoever has too much keeps its share; whoever has not keeps everything.
        assert len(old & new) >= min(len(old), share)
    assert uniform({m: MemberSpec(wanted, after[m]) for m in after}, counts) == after


@given(members=MEMBERS, counts=COUNTS)
def test_uniform_leaves_what_is_even_as_it_is(
    members: dict[str, MemberSpec], counts: dict[UUID, int]
) -> None:
    uniform = ASSIGNORS["uniform"]
    once = uniform(members, counts)
    again = {m: MemberSpec(spec.topics, once[m]) for m, spec in members.items()}
    assert uniform(again, counts) == once


@given(size=st.integers(1, 6), count=st.integers(1, 12))
def test_range_gives_the_same_numbers_of_topics_with_as_many_partitions(
    size: int, count: int
) -> None:
    members = {f"m{n}": MemberSpec(frozenset(TOPICS), {}) for n in range(size)}
    assignment = ASSIGNORS["range"](members, dict.fromkeys(TOPICS, count))
    for mine in assignment.values():
        assert len({mine.get(topic, frozenset()) for topic in TOPICS}) == 1


def test_range_cuts_a_topic_into_runs_in_the_order_of_members() -> None:
    [topic] = wanted = frozenset(TOPICS[:1])
    members = {name: MemberSpec(wanted, {}) for name in ("c", "a", "b")}
    assignment = ASSIGNORS["range"](members, {topic: 7})
    assert {m: sorted(assignment[m][topic]) for m in assignment} == {
        "a": [0, 1, 2],
        "b": [3, 4],
        "c": [5, 6],
    }


def test_range_orders_static_members_by_their_instance() -> None:
    [topic] = wanted = frozenset(TOPICS[:1])
    members = {
        "1": MemberSpec(wanted, {}, instance_id="second"),
        "2": MemberSpec(wanted, {}, instance_id="first"),
        "0": MemberSpec(wanted, {}),
    }
    assignment = ASSIGNORS["range"](members, {topic: 3})
    assert [min(assignment[m][topic]) for m in ("2", "1", "0")] == [0, 1, 2]


def test_more_members_than_partitions_leaves_some_with_nothing() -> None:
    wanted = frozenset(TOPICS[:1])
    members = {f"m{n}": MemberSpec(wanted, {}) for n in range(5)}
    for assign in ASSIGNORS.values():
        found = loads(assign(members, {TOPICS[0]: 3}))
        assert sorted(found.values()) == [0, 0, 1, 1, 1]

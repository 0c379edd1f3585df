"""Where replicas go: evenly over brokers, apart in racks, the load of the dead shared out."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from ottla.controller.assignment import Candidate, add_replicas, assign_replicas

RACKS = ["a", "b", "c", None]


@st.composite
def clusters(draw: st.DrawFn) -> list[Candidate]:
    """Up to ten brokers with any ids in any racks."""
    ids = draw(st.lists(st.integers(0, 1000), min_size=1, max_size=10, unique=True))
    return [Candidate(broker, draw(st.sampled_from(RACKS))) for broker in ids]


def spread(counter: Counter[int], brokers: list[Candidate]) -> int:
    """The difference between who has most and who has least."""
    counts = [counter[broker.broker_id] for broker in brokers]
    return max(counts) - min(counts)


@given(clusters(), st.integers(1, 60), st.integers(0, 100), st.data())
def test_leaders_are_even_and_replicas_apart(
    brokers: list[Candidate], count: int, start: int, data: st.DataObject
) -> None:
    factor = data.draw(st.integers(1, len(brokers)))
    placed = assign_replicas(brokers, count, factor, start=start)
    assert [len(set(replicas)) for replicas in placed] == [factor] * count
    assert spread(Counter(replicas[0] for replicas in placed), brokers) <= 1
    place_of = {broker.broker_id: broker.place for broker in brokers}
    places = len(set(place_of.values()))
    for replicas in placed:
        used = {place_of[broker] for broker in replicas}
        assert len(used) == min(factor, places), "a rack is shared while another is free"


@given(st.integers(1, 10), st.integers(1, 60), st.integers(0, 100), st.data())
def test_without_racks_replicas_are_even_too(
    size: int, count: int, start: int, data: st.DataObject
) -> None:
    brokers = [Candidate(broker, None) for broker in range(size)]
    factor = data.draw(st.integers(1, size))
    placed = assign_replicas(brokers, count, factor, start=start)
    assert spread(Counter(b for replicas in placed for b in replicas), brokers) <= 2


@given(clusters(), st.integers(1, 30), st.integers(1, 30), st.data())
def test_partitions_added_later_even_out_what_is_there(
    brokers: list[Candidate], before: int, added: int, data: st.DataObject
) -> None:
    factor = data.draw(st.integers(1, len(brokers)))
    existing = assign_replicas(brokers, before, factor)
    placed = [*existing, *assign_replicas(brokers, added, factor, existing=existing)]
    assert spread(Counter(replicas[0] for replicas in placed), brokers) <= 1


def test_topics_of_one_partition_take_turns() -> None:
    brokers = [Candidate(broker, None) for broker in range(3)]
    leaders = [assign_replicas(brokers, 1, 1, start=start)[0][0] for start in range(6)]
    assert leaders == [0, 1, 2, 0, 1, 2]


def test_the_load_of_a_dead_broker_is_shared_out() -> None:
    brokers = [Candidate(broker, None) for broker in range(5)]
    placed = assign_replicas(brokers, 100, 3)
    heirs = Counter(replicas[1] for replicas in placed if replicas[0] == 0)
    assert set(heirs) == {1, 2, 3, 4}


def test_racks_take_turns_in_leading() -> None:
    brokers = [Candidate(broker, "x" if broker < 3 else "y") for broker in range(6)]
    leaders = [replicas[0] for replicas in assign_replicas(brokers, 6, 1)]
    assert leaders == [0, 3, 1, 4, 2, 5]


def test_one_broker_gets_everything() -> None:
    assert assign_replicas([Candidate(7, "r")], 3, 1, start=5) == [(7,), (7,), (7,)]


@given(clusters(), st.integers(1, 30), st.data())
def test_partitions_of_one_broker_are_given_more_replicas(
    brokers: list[Candidate], count: int, data: st.DataObject
) -> None:
    factor = data.draw(st.integers(1, len(brokers)))
    first = data.draw(st.sampled_from(brokers))
    widened = add_replicas(brokers, [(first.broker_id,)] * count, factor)
    assert [len(set(replicas)) for replicas in widened] == [factor] * count
    assert all(first.broker_id in replicas for replicas in widened), "what is there stays"
    place_of = {broker.broker_id: broker.place for broker in brokers}
    for replicas in widened:
        used = {place_of[broker] for broker in replicas}
        assert len(used) == min(factor, len(set(place_of.values())))
    assert len({replicas[0] for replicas in widened}) >= min(factor, count, 2), "they lead in turn"

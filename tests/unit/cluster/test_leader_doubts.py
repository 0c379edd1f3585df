"""Which leaders are named while a broker may be dead, and for how long a broker that left is still listed."""

from collections.abc import Mapping

from ottla.cluster.image import BrokerImage, Image
from ottla.cluster.leader_doubts import (
    AWAITED_MS,
    HIDDEN_MS,
    LISTED_MS,
    LeaderDoubts,
    without_brokers,
)


def registered(**epochs: int) -> Mapping[int, BrokerImage]:
    return {int(n[1:]): BrokerImage(int(n[1:]), (), None, epoch) for n, epoch in epochs.items()}


THREE = registered(b1=11, b2=12, b3=13)


def doubts() -> LeaderDoubts:
    made = LeaderDoubts()
    made.registered(THREE, 0)
    return made


def test_nobody_is_doubted_at_first() -> None:
    made = doubts()
    assert not made
    assert (made.awaited(0), made.hidden(0), made.departed(0)) == (frozenset(), frozenset(), [])


def test_an_election_is_awaited_for_a_broker_whose_connection_ended_but_not_for_ever() -> None:
    made = doubts()
    made.connection_lost(2, 12, now_ms=1000)
    assert made.awaited(1000 + AWAITED_MS - 1) == {2}
    assert made.awaited(1000 + AWAITED_MS) == frozenset()
    assert made.hidden(1001) == frozenset()


def test_a_broker_that_answers_again_is_not_doubted() -> None:
    made = doubts()
    made.connection_lost(2, 12, now_ms=1000)
    made.port_refused(2, 12, now_ms=1001)
    made.answered(2)
    assert not made


def test_a_broker_whose_port_refuses_is_hidden_for_two_seconds_from_the_first_refusal() -> None:
    made = doubts()
    made.connection_lost(2, 12, now_ms=1000)
    made.port_refused(2, 12, now_ms=1010)
    made.port_refused(2, 12, now_ms=2500)
    assert made.hidden(1010 + HIDDEN_MS - 1) == {2}
    assert made.hidden(1010 + HIDDEN_MS) == frozenset()
    shown = without_brokers(Image(brokers=THREE), made.hidden(1011))
    assert set(shown.brokers) == {1, 3}


def test_a_broker_that_left_is_listed_a_little_longer_and_its_partitions_await_leaders() -> None:
    made = doubts()
    made.connection_lost(2, 12, now_ms=1000)
    made.registered(registered(b1=11, b3=13), now_ms=1005)
    assert made.awaited(1005 + AWAITED_MS - 1) == {2}
    assert [b.broker_id for b in made.departed(1005 + LISTED_MS - 1)] == [2]
    assert made.departed(1005 + LISTED_MS) == []
    assert made.hidden(1006) == frozenset()


def test_a_broker_that_is_back_is_neither_doubted_nor_listed_twice() -> None:
    made = doubts()
    made.registered(registered(b1=11, b3=13), now_ms=1000)
    made.registered(registered(b1=11, b2=22, b3=13), now_ms=1100)
    assert not made


def test_doubt_about_an_earlier_registration_ends_with_it() -> None:
    made = doubts()
    made.port_refused(2, 12, now_ms=1000)
    made.registered(registered(b1=11, b2=22, b3=13), now_ms=1100)
    assert made.hidden(1101) == frozenset()

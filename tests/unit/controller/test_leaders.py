"""Brokers come and go: who leads then, who is in sync, and when nobody may lead."""

import uuid

import pytest

from ottla.cluster.image import BrokerImage, Changes, Image, PartitionImage, TopicImage, advance
from ottla.controller.leaders import NewState, Undecided, after_change, hand_over, preferred

TOPIC = uuid.UUID(int=7)
STATE_ZXID = 100
BEFORE, SINCE = 50, 150
"""Broker epochs: registered before, or since, the partition got its state."""


def cluster(partition: PartitionImage, **brokers: tuple[int, bool] | None) -> Image:
    """An image of one partition; brokers as b1=(epoch, clean), or None where one is gone."""
    topic = TopicImage("t", TOPIC, (partition,), 0)
    registered = {
        int(name[1:]): BrokerImage(int(name[1:]), (), None, *life)
        for name, life in brokers.items()
        if life is not None
    }
    return advance(Image(), Changes(topics={"t": topic}, brokers=registered))[0]


def state(leader: int, *isr: int, replicas: tuple[int, ...] = (1, 2, 3)) -> PartitionImage:
    return PartitionImage(0, replicas, isr, leader, 4, 9, STATE_ZXID)


def decided(
    image: Image, *, unclean: bool = False, ends: dict[int, tuple[int, int]] | None = None
) -> list[tuple[int, tuple[int, ...], int]] | str:
    """(leader, isr, leader epoch) of what changes."""
    known = {(TOPIC, 0): ends} if ends else {}
    found = list(after_change(image, lambda topic: unclean, known))
    if any(isinstance(each, Undecided) for each in found):
        return "undecided"
    return [(s.leader, s.isr, s.leader_epoch) for s in found if isinstance(s, NewState)]


ALIVE = (BEFORE, True)
BOUNCED_CLEAN, BOUNCED = (SINCE, True), (SINCE, False)


def test_nothing_changes_while_all_are_there() -> None:
    image = cluster(state(1, 1, 2, 3), b1=ALIVE, b2=ALIVE, b3=ALIVE)
    assert decided(image) == []


def test_a_dead_leader_is_followed_by_the_next_in_sync() -> None:
    image = cluster(state(1, 1, 3, 2), b2=ALIVE, b3=ALIVE)
    assert decided(image) == [(2, (3, 2), 5)]


def test_a_dead_follower_leaves_the_isr_and_the_epoch_stays() -> None:
    image = cluster(state(1, 1, 2, 3), b1=ALIVE, b3=ALIVE)
    assert decided(image) == [(1, (1, 3), 4)]


def test_the_last_member_is_never_removed() -> None:
    image = cluster(state(1, 1), b2=ALIVE, b3=ALIVE)
    assert decided(image) == [(-1, (1,), 5)]
    assert decided(cluster(state(-1, 1), b2=ALIVE, b3=ALIVE)) == []


def test_the_last_member_leads_again_when_it_is_back() -> None:
    image = cluster(state(-1, 1), b1=BOUNCED_CLEAN, b2=ALIVE, b3=ALIVE)
    assert decided(image) == [(1, (1,), 5)]
    image = cluster(state(-1, 1), b1=BOUNCED, b2=ALIVE, b3=ALIVE)
    assert decided(image) == [(1, (1,), 5)], "whatever it lacks, nobody else has more"


def test_an_unclean_election_only_where_it_is_allowed() -> None:
    image = cluster(state(-1, 1), b2=ALIVE, b3=ALIVE)
    assert decided(image, unclean=True) == [(2, (2,), 5)]


def test_a_leader_that_crashed_and_is_back_before_anybody_noticed_does_not_go_on() -> None:
    image = cluster(state(1, 1, 2, 3), b1=BOUNCED, b2=ALIVE, b3=ALIVE)
    assert decided(image) == [(2, (2, 3), 5)]


def test_one_that_stopped_cleanly_leads_again_in_a_new_epoch() -> None:
    image = cluster(state(1, 1, 2, 3), b1=BOUNCED_CLEAN, b2=ALIVE, b3=ALIVE)
    assert decided(image) == [(1, (1, 2, 3), 5)]


def test_a_follower_that_crashed_and_is_back_has_to_catch_up_first() -> None:
    image = cluster(state(1, 1, 2, 3), b1=ALIVE, b2=BOUNCED, b3=ALIVE)
    assert decided(image) == [(1, (1, 3), 4)]


def test_after_a_crash_of_all_the_furthest_leads_once_all_are_back() -> None:
    some = cluster(state(1, 1, 2), b2=BOUNCED, b3=ALIVE)
    assert decided(some) == [(-1, (1, 2), 5)], "broker 1 may hold what broker 2 has lost"
    both = cluster(state(-1, 1, 2), b1=BOUNCED, b2=BOUNCED, b3=ALIVE)
    assert decided(both) == "undecided"
    assert decided(both, ends={1: (4, 90)}) == "undecided"
    assert decided(both, ends={1: (4, 90), 2: (4, 95)}) == [(2, (2,), 5)]
    assert decided(both, ends={1: (5, 90), 2: (4, 95)}) == [(1, (1,), 5)], "a later epoch wins"


def test_after_a_crash_of_all_those_who_are_as_far_as_the_leader_stay_in_sync() -> None:
    everybody = cluster(state(1, 1, 2, 3), b1=BOUNCED, b2=BOUNCED, b3=BOUNCED)
    ends = {1: (4, 90), 2: (4, 95), 3: (4, 95)}
    assert decided(everybody, ends=ends) == [(2, (2, 3), 5)]


def test_the_only_replica_goes_on_in_its_epoch() -> None:
    alone = state(1, 1, replicas=(1,))
    assert decided(cluster(alone, b1=BOUNCED)) == []


def test_a_broker_that_stops_gives_up_what_others_can_lead() -> None:
    image = cluster(state(1, 1, 2, 3), b1=ALIVE, b2=ALIVE, b3=ALIVE)
    [handed] = hand_over(image, 1)
    assert (handed.leader, handed.isr, handed.leader_epoch) == (2, (2, 3), 5)
    [left] = hand_over(image, 3)
    assert (left.leader, left.isr, left.leader_epoch) == (1, (1, 2), 4)
    assert list(hand_over(cluster(state(1, 1), b1=ALIVE, b2=ALIVE), 1)) == []


@pytest.mark.parametrize(
    ("isr", "brokers", "leader"),
    [((1, 2), {"b1": ALIVE, "b2": ALIVE}, 1), ((2, 3), {"b1": ALIVE, "b2": ALIVE}, None)],
    ids=["in sync", "not in sync"],
)
def test_preferred_leaders_lead_when_they_can(
    isr: tuple[int, ...], brokers: dict[str, tuple[int, bool]], leader: int | None
) -> None:
    image = cluster(state(2, *isr), **brokers)
    found = [each.leader for each in preferred(image, lambda *_: True)]
    assert found == ([] if leader is None else [leader])

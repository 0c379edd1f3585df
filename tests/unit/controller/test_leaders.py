"""Brokers come and go: who leads then, who is in sync, and when nobody may lead."""

import uuid
from collections.abc import Mapping

import pytest

from ottla.cluster.image import BrokerImage, Changes, Image, PartitionImage, TopicImage, advance
from ottla.cluster.znodes import Bound
from ottla.controller.leaders import (
    Policy,
    Undecided,
    after_change,
    eligible_leaders,
    hand_over,
    preferred,
    waits_for,
)
from ottla.controller.states import NewState, fences

TOPIC = uuid.UUID(int=7)
LIFE, NEXT_LIFE = 3, 4
EPOCH, STATE_ZXID = 150, 100


def cluster(partition: PartitionImage, **brokers: int | None) -> Image:
    """An image of one partition; brokers as b1=life, or None where one is gone."""
    topic = TopicImage("t", TOPIC, (partition,), 0)
    registered = {
        int(name[1:]): BrokerImage(int(name[1:]), (), None, EPOCH, life=life, incarnation=8)
        for name, life in brokers.items()
        if life is not None
    }
    return advance(Image(), Changes(topics={"t": topic}, brokers=registered))[0]


def state(
    leader: int,
    *isr: int,
    replicas: tuple[int, ...] = (1, 2, 3),
    elr: tuple[int, ...] = (),
    left: Mapping[int, Bound | None] | None = None,
) -> PartitionImage:
    lives = dict.fromkeys((*isr, *elr), LIFE)
    placed = PartitionImage(0, replicas, isr, leader, 4, 9, STATE_ZXID)
    return placed._replace(lives=lives, elr=elr, left=left or {})


def policy(min_isr: int = 1, *, unclean: bool = False) -> Policy:
    return Policy(lambda topic: min_isr, lambda topic: unclean)


Ends = dict[int, Bound | None]


def decided(
    image: Image, *, unclean: bool = False, ends: Ends | None = None
) -> list[tuple[int, tuple[int, ...], int]] | str:
    """(leader, isr, leader epoch) of what changes."""
    found = written(image, policy(unclean=unclean), ends)
    if any(isinstance(each, Undecided) for each in found):
        return "undecided"
    return [(s.leader, s.isr, s.leader_epoch) for s in found if isinstance(s, NewState)]


def written(
    image: Image, rules: Policy | None = None, ends: Ends | None = None
) -> list[NewState | Undecided]:
    return list(after_change(image, rules or policy(), lambda topic, partition: ends or {}))


def test_nothing_changes_while_all_are_there() -> None:
    image = cluster(state(1, 1, 2, 3), b1=LIFE, b2=LIFE, b3=LIFE)
    assert decided(image) == []


def test_a_dead_leader_is_followed_by_the_next_in_sync() -> None:
    image = cluster(state(1, 1, 3, 2), b2=LIFE, b3=LIFE)
    assert decided(image) == [(2, (3, 2), 5)]


def test_a_dead_follower_leaves_the_isr_and_the_epoch_stays() -> None:
    image = cluster(state(1, 1, 2, 3), b1=LIFE, b3=LIFE)
    assert decided(image) == [(1, (1, 3), 4)]


def test_the_last_member_is_never_removed() -> None:
    image = cluster(state(1, 1), b2=LIFE, b3=LIFE)
    assert decided(image) == [(-1, (1,), 5)]
    assert decided(cluster(state(-1, 1), b2=LIFE, b3=LIFE)) == []


def test_nobody_becomes_sound_by_the_word_that_nobody_leads() -> None:
    """Finding 1 of the review: the first one back was elected after that, with whatever its disk held."""
    image = cluster(state(1, 1, 2, 3), b1=NEXT_LIFE)
    [nobody] = written(image)
    assert isinstance(nobody, NewState)
    assert (nobody.leader, nobody.isr, nobody.lives) == (-1, (1, 2, 3), dict.fromkeys((1, 2, 3), 3))
    after = state(-1, 1, 2, 3)._replace(zxid=EPOCH + 1)
    assert decided(cluster(after, b1=NEXT_LIFE)) == []


def test_the_last_member_leads_again_when_it_is_back() -> None:
    image = cluster(state(-1, 1), b1=LIFE, b2=LIFE, b3=LIFE)
    assert decided(image) == [(1, (1,), 5)]
    image = cluster(state(-1, 1), b1=NEXT_LIFE, b2=LIFE, b3=LIFE)
    assert decided(image) == "undecided"
    ends: Ends = {1: (4, 90), 2: (4, 80), 3: (4, 80)}
    assert decided(image, ends=ends) == [(1, (1,), 5)], "nobody else has more"


def test_somebody_who_left_long_ago_leads_if_it_holds_more_than_the_last_member() -> None:
    image = cluster(state(-1, 1, left={2: (4, 60), 3: (4, 70)}), b1=NEXT_LIFE, b2=LIFE, b3=LIFE)
    assert decided(image, ends={1: (-1, 0), 2: (4, 60), 3: (4, 70)}) == [(3, (3,), 5)]


def test_who_may_hold_more_than_the_last_member_is_waited_for() -> None:
    ends: Ends = {1: (4, 65), 2: (4, 60)}
    for bound, expected in (
        ((4, 65), [(1, (1,), 5)]),
        ((3, 90), [(1, (1,), 5)]),
        ((4, 66), []),
        (None, []),
    ):
        image = cluster(state(-1, 1, left={2: (4, 60), 3: bound}), b1=NEXT_LIFE, b2=LIFE)
        assert decided(image, ends=ends) == expected, bound


def test_an_unclean_election_only_where_it_is_allowed_takes_the_furthest() -> None:
    image = cluster(state(-1, 1), b2=LIFE, b3=LIFE)
    assert decided(image) == []
    assert decided(image, unclean=True) == "undecided"
    assert decided(image, unclean=True, ends={2: (4, 10), 3: (4, 20)}) == [(3, (3,), 5)]
    assert decided(image, unclean=True, ends={2: (4, 10), 3: None}) == [(2, (2,), 5)]


def test_a_leader_that_crashed_and_is_back_before_anybody_noticed_does_not_go_on() -> None:
    image = cluster(state(1, 1, 2, 3), b1=NEXT_LIFE, b2=LIFE, b3=LIFE)
    assert decided(image) == [(2, (2, 3), 5)]


def test_one_that_stopped_cleanly_or_lost_its_session_leads_on() -> None:
    image = cluster(state(1, 1, 2, 3), b1=LIFE, b2=LIFE, b3=LIFE)
    assert decided(image) == []


def test_a_follower_that_crashed_and_is_back_has_to_catch_up_first() -> None:
    image = cluster(state(1, 1, 2, 3), b1=LIFE, b2=NEXT_LIFE, b3=LIFE)
    assert decided(image) == [(1, (1, 3), 4)]


def test_after_a_crash_of_all_the_furthest_leads_once_all_are_back() -> None:
    some = cluster(state(1, 1, 2), b2=NEXT_LIFE, b3=LIFE)
    assert decided(some) == [(-1, (1, 2), 5)], "broker 1 may hold what broker 2 has lost"
    both = cluster(state(-1, 1, 2), b1=NEXT_LIFE, b2=NEXT_LIFE, b3=LIFE)
    assert decided(both) == "undecided"
    assert decided(both, ends={1: (4, 90), 3: (-1, 0)}) == "undecided"
    assert decided(both, ends={1: (4, 90), 2: None, 3: (-1, 0)}) == [], "its disk has failed"
    assert decided(both, ends={1: (4, 90), 2: (4, 95), 3: None}) == [(2, (2,), 5)]
    assert decided(both, ends={1: (5, 90), 2: (4, 95), 3: (-1, 0)}) == [(1, (1,), 5)]


def test_after_a_crash_of_all_those_who_are_as_far_as_the_leader_stay_in_sync() -> None:
    everybody = cluster(state(1, 1, 2, 3), b1=NEXT_LIFE, b2=NEXT_LIFE, b3=NEXT_LIFE)
    [found] = written(everybody, ends={1: (4, 90), 2: (4, 95), 3: (4, 95)})
    assert isinstance(found, NewState)
    assert (found.leader, found.isr, found.leader_epoch) == (2, (2, 3), 5)
    assert found.lives == {2: NEXT_LIFE, 3: NEXT_LIFE}
    assert found.left == {1: (4, 90)}, "what it holds is known"


def test_who_leaves_below_min_isr_stays_eligible_and_is_elected() -> None:
    image = cluster(state(1, 1, 2), b1=LIFE, b3=LIFE)
    [short] = written(image, policy(min_isr=2))
    assert isinstance(short, NewState)
    assert (short.isr, short.elr, short.lives) == ((1,), (2,), {1: LIFE, 2: LIFE})
    back = cluster(state(1, 1, elr=(2,)), b2=LIFE, b3=LIFE)
    [elected] = written(back, policy(min_isr=2))
    assert isinstance(elected, NewState)
    assert (elected.leader, elected.isr, elected.elr) == (2, (2,), (1,))
    restarted = cluster(state(1, 1, elr=(2,)), b2=NEXT_LIFE, b3=LIFE)
    assert decided(restarted) == [(-1, (1,), 5)]
    assert waits_for(restarted, state(-1, 1, elr=(2,))) == (1,)


def test_who_was_eligible_by_a_min_isr_that_is_none_any_more_is_so_no_longer() -> None:
    image = cluster(state(1, 1, elr=(2,)), b1=LIFE)
    assert written(image, policy(min_isr=2)) == []
    [lowered] = written(image, policy(min_isr=1))
    assert isinstance(lowered, NewState)
    assert (lowered.isr, lowered.elr, lowered.left) == ((1,), (), {2: None})


def test_who_leaves_while_enough_are_in_sync_is_not_eligible_but_not_forgotten() -> None:
    image = cluster(state(1, 1, 2, 3, elr=()), b1=LIFE, b2=LIFE)
    [shrunk] = written(image, policy(min_isr=2))
    assert isinstance(shrunk, NewState)
    assert (shrunk.isr, shrunk.elr, shrunk.left) == ((1, 2), (), {3: None})


def test_eligible_leaders_are_told_apart_from_those_that_began_another_life() -> None:
    placed = state(1, 1, elr=(2, 3), left={4: None, 5: (4, 9)}, replicas=(1, 2, 3, 4, 5))
    image = cluster(placed, b1=LIFE, b2=NEXT_LIFE)
    assert eligible_leaders(image, placed) == ((3,), (2, 4))


def test_the_only_replica_goes_on_in_its_epoch() -> None:
    alone = state(1, 1, replicas=(1,))
    assert decided(cluster(alone, b1=NEXT_LIFE)) == []
    assert decided(cluster(alone._replace(lives={}), b1=NEXT_LIFE)) == []
    assert decided(cluster(state(-1, 1, replicas=(1,)), b1=NEXT_LIFE)) == [(1, (1,), 5)]


def test_a_state_of_the_build_before_is_taken_over_where_its_leader_leads() -> None:
    old = state(1, 1, 2)._replace(lives={}, zxid=EPOCH + 1)
    [named] = written(cluster(old, b1=LIFE, b2=LIFE))
    assert isinstance(named, NewState)
    assert (named.leader, named.isr, named.leader_epoch) == (1, (1, 2), 4)
    assert named.lives == {1: LIFE, 2: LIFE}


@pytest.mark.parametrize("leader", [-1, 1])
def test_any_other_state_of_the_build_before_is_settled_by_asking(leader: int) -> None:
    old = state(leader, 1, 2)._replace(lives={}, zxid=EPOCH + leader)
    if leader > 0:
        old = old._replace(zxid=EPOCH - 1)
    image = cluster(old, b1=LIFE, b2=LIFE)
    assert decided(image) == "undecided"
    assert decided(image, ends={1: (4, 1), 2: (4, 2)}) == [(2, (2,), 5)]


def test_a_broker_that_stops_gives_up_what_others_can_lead() -> None:
    image = cluster(state(1, 1, 2, 3), b1=LIFE, b2=LIFE, b3=LIFE)
    [handed] = hand_over(image, 1, policy())
    assert (handed.leader, handed.isr, handed.leader_epoch) == (2, (2, 3), 5)
    [left] = hand_over(image, 3, policy())
    assert (left.leader, left.isr, left.leader_epoch) == (1, (1, 2), 4)
    assert list(hand_over(cluster(state(1, 1), b1=LIFE, b2=LIFE), 1, policy())) == []


def test_nothing_is_handed_over_to_a_broker_that_began_another_life() -> None:
    image = cluster(state(1, 1, 2, 3), b1=LIFE, b2=NEXT_LIFE, b3=LIFE)
    [handed] = hand_over(image, 1, policy(min_isr=2))
    assert (handed.leader, handed.isr, handed.elr) == (3, (3,), (1, 2))
    alone = cluster(state(1, 1, 2), b1=LIFE, b2=NEXT_LIFE)
    assert list(hand_over(alone, 1, policy())) == []


@pytest.mark.parametrize(
    ("isr", "brokers", "leader"),
    [
        ((1, 2), {"b1": LIFE, "b2": LIFE}, 1),
        ((2, 3), {"b1": LIFE, "b2": LIFE, "b3": LIFE}, None),
        ((1, 2), {"b1": NEXT_LIFE, "b2": LIFE}, None),
        ((1, 2, 3), {"b1": LIFE, "b2": LIFE, "b3": NEXT_LIFE}, None),
    ],
    ids=["in sync", "not in sync", "began another life", "not settled"],
)
def test_preferred_leaders_lead_when_they_can(
    isr: tuple[int, ...], brokers: dict[str, int | None], leader: int | None
) -> None:
    image = cluster(state(2, *isr), **brokers)
    found = [each.leader for each in preferred(image, lambda *_: True, policy())]
    assert found == ([] if leader is None else [leader])


def test_what_an_election_relies_on_is_checked_with_it() -> None:
    image = cluster(state(1, 1, 2, 3), b2=LIFE, b3=LIFE)
    paths = [(check.path, check.version) for check in fences(image, (3, 2, 1))]
    assert paths == [("/brokers/incarnations/2", 8), ("/brokers/incarnations/3", 8)]

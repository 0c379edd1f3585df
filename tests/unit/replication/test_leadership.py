"""A leader and its followers: what is committed, and when the ISR grows and shrinks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.cluster.image import PartitionImage
from ottla.replication.leadership import Leadership, Proposal

LEADER, SECOND, THIRD = 1, 2, 3
EPOCHS = {LEADER: 10, SECOND: 20, THIRD: 30}
LAG_MS = 30_000


def placed(*isr: int, version: int = 0, replicas: tuple[int, ...] = (1, 2, 3)) -> PartitionImage:
    return PartitionImage(0, replicas, isr, LEADER, 5, version)


def leading(*isr: int, end_offset: int = 100) -> Leadership:
    """A leader that was elected at time 0 with so much in its log."""
    return Leadership(LEADER, placed(*isr), end_offset, 0)


def fetch(
    state: Leadership, broker: int, offset: int, *, end: int = 100, now: int = 0, epoch: int = 0
) -> bool:
    return state.fetched(broker, epoch or EPOCHS[broker], offset, end, now)


def test_committed_is_what_every_member_of_the_isr_holds() -> None:
    state = leading(1, 2, 3)
    assert state.committed_end(100) < 0, "nobody has been heard of"
    fetch(state, SECOND, 90)
    fetch(state, THIRD, 95)
    assert state.committed_end(100) == 90
    fetch(state, SECOND, 100)
    assert state.committed_end(100) == 95
    assert state.committed_end(80) == 80, "what the leader itself has not synced"


def test_one_that_has_not_registered_does_not_count() -> None:
    """What it acknowledges would belong to no life that the tree knows of."""
    state = leading(1, 2)
    assert not fetch(state, SECOND, 100, epoch=-1)
    assert state.committed_end(100) < 0


def test_what_those_hold_who_left_is_told_once_for_each_state() -> None:
    state = Leadership(LEADER, placed(1, 2)._replace(left={THIRD: None}), 100, 0)
    assert state.news_of_who_left(5, 100) == Proposal(((1, -1), (2, -1)), 5, 0, (5, 100))
    state.refused(Proposal(((1, -1), (2, -1)), 5, 0, (5, 100)))
    assert state.news_of_who_left(5, 110) is None
    assert Leadership(LEADER, placed(1, 2), 100, 0).news_of_who_left(5, 100) is None


def test_a_member_never_heard_of_is_proposed_without_an_epoch() -> None:
    """Finding 4 of the review: with the registered one, a broker that was restarted looked as if it had been there."""
    state = leading(1, 2, end_offset=100)
    fetch(state, THIRD, 100)
    proposal = state.expansion(100, EPOCHS)
    assert proposal is not None
    assert proposal.isr == ((1, 10), (2, -1), (3, 30))


def test_whoever_is_outside_does_not_count() -> None:
    state = leading(1, 2)
    fetch(state, SECOND, 100)
    fetch(state, THIRD, 3)
    assert state.committed_end(100) == 100


def test_a_follower_joins_once_it_holds_what_is_committed_and_has_entered_the_epoch() -> None:
    state = leading(1, 2, end_offset=100)
    fetch(state, SECOND, 120, end=120)
    fetch(state, THIRD, 99, end=120)
    assert state.expansion(90, EPOCHS) is None, "it holds what is committed, but not this epoch"
    fetch(state, THIRD, 100, end=120)
    assert state.expansion(110, EPOCHS) is None, "it is in this epoch, but lacks what is committed"
    fetch(state, THIRD, 110, end=120)
    proposal = state.expansion(110, EPOCHS)
    assert proposal == Proposal(((1, 10), (2, 20), (3, 30)), 5, 0)


def test_one_that_is_being_added_counts_already() -> None:
    state = leading(1, 2)
    fetch(state, SECOND, 110, end=110)
    fetch(state, THIRD, 100, end=110)
    assert state.expansion(100, EPOCHS) is not None
    assert state.committed_end(110) == 100


def test_one_that_is_being_removed_counts_until_the_controller_agrees() -> None:
    state = leading(1, 2, 3)
    fetch(state, SECOND, 110, end=110, now=40_000)
    fetch(state, THIRD, 100, end=100)
    proposal = state.shrinking(110, EPOCHS, LAG_MS, 40_000)
    assert proposal is not None
    assert proposal.members == (1, 2)
    assert state.committed_end(110) == 100
    state.adopt(placed(1, 2, version=1), 40_001)
    assert state.committed_end(110) == 110


def test_only_those_who_lag_for_too_long_are_removed() -> None:
    state = leading(1, 2, 3)
    fetch(state, SECOND, 100, now=5_000)
    fetch(state, THIRD, 100, now=5_000)
    assert state.shrinking(100, EPOCHS, LAG_MS, 99_000) is None, "nothing was written since"
    assert state.shrinking(101, EPOCHS, LAG_MS, 35_000) is None
    proposal = state.shrinking(101, EPOCHS, LAG_MS, 35_001)
    assert proposal is not None
    assert proposal.members == (1,)


def test_one_that_keeps_up_with_a_busy_leader_is_caught_up() -> None:
    """It never reaches the end, which moves on, but always what the end was when it asked last."""
    state = leading(1, 2, 3)
    for second in range(100):
        fetch(state, SECOND, 100 + 10 * second, end=110 + 10 * second, now=second * 1000)
    assert state.shrinking(2_000, EPOCHS, LAG_MS, 99_000) is not None
    assert state.pending is not None
    assert state.pending.members == (1, 2)


def test_there_is_one_proposal_at_a_time() -> None:
    state = leading(1)
    fetch(state, SECOND, 100)
    first = state.expansion(100, EPOCHS)
    assert first is not None
    fetch(state, THIRD, 100)
    assert state.expansion(100, EPOCHS) is None
    state.adopt(placed(1, 2, version=1), 0)
    second = state.expansion(100, EPOCHS)
    assert second == Proposal(((1, 10), (2, 20), (3, 30)), 5, 1)


def test_after_a_refusal_the_leader_goes_on_from_what_is_confirmed() -> None:
    state = leading(1)
    fetch(state, SECOND, 100)
    refused = state.expansion(100, EPOCHS)
    assert refused is not None
    state.refused(refused)
    assert state.pending is None
    assert state.expansion(100, EPOCHS) == refused


@pytest.mark.parametrize(
    "registered", [{}, {SECOND: 21}], ids=["gone", "restarted since it fetched"]
)
def test_a_replica_joins_only_in_the_life_in_which_it_fetched(registered: dict[int, int]) -> None:
    state = leading(1)
    fetch(state, SECOND, 100)
    assert state.expansion(100, registered) is None


def test_an_earlier_life_of_a_replica_is_not_heard() -> None:
    state = leading(1, 2)
    assert fetch(state, SECOND, 50, epoch=21)
    assert not fetch(state, SECOND, 100, epoch=20)
    assert state.committed_end(100) == 50
    assert not fetch(state, 4, 100, epoch=1), "a stranger"


@given(st.lists(st.tuples(st.sampled_from([2, 3]), st.integers(0, 50)), max_size=40))
def test_committed_never_passes_a_member(fetches: list[tuple[int, int]]) -> None:
    """Whatever is fetched in whatever order, confirmed or not."""
    state = leading(1, 2, end_offset=0)
    held = {SECOND: -1, THIRD: -1}
    for now, (broker, offset) in enumerate(fetches):
        fetch(state, broker, offset, end=50, now=now)
        held[broker] = offset
        proposal = state.expansion(max(0, state.committed_end(50)), EPOCHS)
        members = {SECOND} | set(proposal.members if proposal else ()) - {LEADER}
        members |= set(state.pending.members if state.pending else ()) - {LEADER}
        assert state.committed_end(50) <= min(held[each] for each in members)

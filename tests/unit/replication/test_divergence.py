"""Two logs that went different ways, and how the follower's is cut until both agree."""

from hypothesis import given
from hypothesis import strategies as st

from ottla.replication.divergence import truncation_offset
from ottla.storage.epochs import LeaderEpochs


def epochs(*entries: tuple[int, int]) -> LeaderEpochs:
    made = LeaderEpochs()
    for epoch, start in entries:
        made.assign(epoch, start)
    return made


def test_a_longer_tail_of_the_same_epoch_is_cut_to_the_leaders_end() -> None:
    assert truncation_offset(epochs((0, 0)), 12, 0, 10) == 10


def test_an_epoch_the_leader_never_saw_is_cut_off() -> None:
    assert truncation_offset(epochs((0, 0), (1, 10)), 15, 0, 20) == 10


def test_an_epoch_the_follower_never_saw_cuts_where_the_one_before_ends() -> None:
    """KIP-279: the leader shares epoch 2, which we lack; we have 1 and 3."""
    assert truncation_offset(epochs((1, 0), (3, 8)), 20, 2, 30) == 8


def test_a_follower_without_epochs_trusts_the_leaders_end() -> None:
    assert truncation_offset(epochs(), 12, 4, 10) == 10


def split(log: list[int]) -> LeaderEpochs:
    """The epochs of a log, given as the epoch of each record."""
    made = LeaderEpochs()
    for offset, epoch in enumerate(log):
        made.assign(epoch, offset)
    return made


@given(
    st.lists(st.integers(0, 3), max_size=8).map(sorted),
    st.lists(st.sampled_from([4, 6]), max_size=6).map(sorted),
    st.lists(st.sampled_from([5, 7]), max_size=6).map(sorted),
)
def test_in_the_end_the_follower_has_a_prefix_of_the_leaders_log(
    shared: list[int], followers: list[int], leaders: list[int]
) -> None:
    """Fetch, be told where we part, cut, fetch again: it ends, and what is shared stays."""
    follower, leader = shared + followers, shared + leaders
    known = split(leader)
    known.assign(8, len(leader))  # the epoch in which the leader was elected
    for _ in range(10):
        if not follower:
            break
        epoch, end = known.end_offset_for(follower[-1], len(leader))
        if epoch >= follower[-1] and end >= len(follower):
            break
        cut = truncation_offset(split(follower), len(follower), epoch, end)
        assert cut < len(follower)
        follower = follower[:cut]
    assert follower == leader[: len(follower)]
    assert len(follower) >= len(shared)

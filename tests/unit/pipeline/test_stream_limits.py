"""How far a stream's next batch goes."""

from hypothesis import given
from hypothesis import strategies as st

from ottla.base.ids import TopicPartition
from ottla.pipeline.stream_limits import Patience, limited

BUSY, QUIET = TopicPartition("t", 0), TopicPartition("t", 1)


def test_a_limit_is_shared_out_by_what_each_partition_has() -> None:
    end = limited({BUSY: 100, QUIET: 0}, {BUSY: 1000, QUIET: 100}, 100)
    assert end == {BUSY: 190, QUIET: 10}


def test_a_quiet_partition_does_not_starve() -> None:
    assert limited({BUSY: 0, QUIET: 0}, {BUSY: 1_000_000, QUIET: 1}, 10)[QUIET] == 1


def test_what_fits_is_taken_whole() -> None:
    assert limited({BUSY: 0, QUIET: 0}, {BUSY: 5, QUIET: 5}, 10) == {BUSY: 5, QUIET: 5}


@given(
    st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)), max_size=8),
    st.integers(1, 10**6),
)
def test_limits_hold_and_every_batch_moves_on(spans: list[tuple[int, int]], most: int) -> None:
    start = {TopicPartition("t", n): first for n, (first, _) in enumerate(spans)}
    latest = {TopicPartition("t", n): first + size for n, (first, size) in enumerate(spans)}
    end = limited(start, latest, most)
    assert all(start[each] <= end[each] <= latest[each] for each in latest)
    taken = sum(end[each] - start[each] for each in latest)
    # Each partition with something to read may get one offset beyond its share.
    assert taken <= most + len(spans)
    assert taken or end == latest


def test_patience_waits_for_enough_or_for_long_enough() -> None:
    patience = Patience(min_offsets=10, max_delay_ms=1000)
    assert not patience.waits({BUSY: 0}, {BUSY: 1}, now_ms=0)
    assert patience.waits({BUSY: 0}, {BUSY: 9}, now_ms=999)
    assert not patience.waits({BUSY: 0}, {BUSY: 10}, now_ms=999)
    assert patience.waits({BUSY: 10}, {BUSY: 11}, now_ms=1998)
    assert not patience.waits({BUSY: 10}, {BUSY: 11}, now_ms=1999)

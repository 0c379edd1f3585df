"""RateRing: the last hour of a rate in little memory."""

from hypothesis import given
from hypothesis import strategies as st

from ottla.base.metrics import RATE_BUCKET_MS, RATE_BUCKETS, RateRing

START_MS = 1_700_000_000_000


def test_a_ring_that_was_never_used_is_an_hour_of_nothing():
    assert RateRing().series(START_MS) == [0.0] * RATE_BUCKETS
    assert RateRing().per_second(START_MS) == 0


def test_amounts_fall_into_buckets_of_ten_seconds():
    ring = RateRing()
    for seconds, amount in ((0, 1), (9, 2), (10, 5), (35, 7)):
        ring.add(START_MS + seconds * 1000, amount)
    assert ring.series(START_MS + 36_000)[-4:] == [3, 5, 0, 7]


def test_what_is_older_than_an_hour_is_forgotten():
    ring = RateRing()
    ring.add(START_MS, 4)
    last = START_MS + (RATE_BUCKETS - 1) * RATE_BUCKET_MS
    assert ring.series(last)[0] == 4
    assert sum(ring.series(last + RATE_BUCKET_MS)) == 0
    ring.add(last + RATE_BUCKET_MS, 1)
    assert sum(ring.series(last + RATE_BUCKET_MS)) == 1


def test_the_rate_is_the_mean_of_the_last_full_minute():
    ring = RateRing()
    for seconds in range(0, 120, 10):
        ring.add(START_MS + seconds * 1000, 100)
    assert ring.per_second(START_MS + 119_000) == 10


def test_time_that_runs_backwards_counts_now():
    ring = RateRing()
    ring.add(START_MS, 1)
    ring.add(START_MS - 60_000, 2)
    assert ring.series(START_MS)[-1] == 3


steps = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 1000)), max_size=40)


@given(steps, st.integers(0, 400))
def test_the_ring_agrees_with_a_list_of_everything(added, later):
    ring, everything, bucket = RateRing(), {}, START_MS // RATE_BUCKET_MS
    for skipped, amount in added:
        bucket += skipped
        everything[bucket] = everything.get(bucket, 0) + amount
        ring.add(bucket * RATE_BUCKET_MS, amount)
    bucket += later
    expected = [everything.get(b, 0) for b in range(bucket - RATE_BUCKETS + 1, bucket + 1)]
    assert ring.series(bucket * RATE_BUCKET_MS) == expected

"""Replication throttles: no more than the rate over any while, whatever the sizes, and never for ever."""

from hypothesis import given
from hypothesis import strategies as st

from ottla.replication.throttle import Throttle, is_listed

RATE = 1000


def test_a_list_names_replicas_or_all_of_them() -> None:
    assert is_listed(("0:1", "2:3"), 2, 3)
    assert not is_listed(("0:1", "2:3"), 2, 1)
    assert is_listed(("*",), 7, 9)
    assert not is_listed((), 0, 1)


def test_whoever_overdraws_waits_until_it_is_paid_back() -> None:
    throttle = Throttle()
    assert throttle.wait_ms(RATE, 0) == 0
    throttle.passed(4 * RATE, RATE, 0)
    wait_ms = throttle.wait_ms(RATE, 0)
    assert wait_ms == 3001
    assert throttle.wait_ms(RATE, wait_ms - 2) > 0
    assert throttle.wait_ms(RATE, wait_ms) == 0


def test_a_batch_far_above_the_rate_does_not_stop_it_for_an_hour() -> None:
    throttle = Throttle()
    throttle.passed(10**9, RATE, 0)
    assert throttle.wait_ms(RATE, 0) <= 10_001


def test_another_rate_holds_at_once() -> None:
    throttle = Throttle()
    throttle.passed(10 * RATE, RATE, 0)
    assert throttle.wait_ms(RATE, 0) > 0
    assert throttle.wait_ms(2 * RATE, 0) == 0


def test_nothing_passes_at_a_rate_of_nothing() -> None:
    assert Throttle().wait_ms(0, 0) == 1000


def test_a_clock_that_goes_back_gives_nothing_away() -> None:
    throttle = Throttle()
    throttle.passed(2 * RATE, RATE, 60_000)
    assert throttle.wait_ms(RATE, 0) == 1001


@given(st.lists(st.tuples(st.integers(0, 3000), st.integers(1, 5 * RATE)), max_size=60))
def test_the_rate_holds_over_any_run(steps: list[tuple[int, int]]) -> None:
    """What passed is at most a second's burst, the rate for the time it took, and one overdraft."""
    throttle, now_ms, passed, largest = Throttle(), 0, 0, 0
    for pause_ms, size in steps:
        now_ms += pause_ms
        if throttle.wait_ms(RATE, now_ms) == 0:
            throttle.passed(size, RATE, now_ms)
            passed, largest = passed + size, max(largest, size)
    assert passed <= RATE * (1 + now_ms / 1000) + largest

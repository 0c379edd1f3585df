"""A clock that is watched: whoever counts on the time of day hears of it before it reads a time that was set."""

from collections.abc import Callable

import pytest

from ottla.base.clock import STEP_MS, Clock
from tests.support.clock import ScriptedClock

NOW_MS, HOUR_MS = 1_800_000_000_000, 3_600_000


class Listener:
    """Reads a clock, and keeps what it was told of it."""

    def __init__(self, clock: Clock) -> None:
        self.told: list[tuple[int, int]] = []
        self.now_ms: Callable[[], int] = clock.watched(lambda by, now: self.told.append((by, now)))


@pytest.fixture
def clock() -> ScriptedClock:
    return ScriptedClock(NOW_MS)


def test_that_time_passes_is_nothing_to_be_told(clock: ScriptedClock) -> None:
    listener = Listener(clock)
    for passed_ms in (0, 1, 999, 1_000, 1_001, HOUR_MS, 24 * HOUR_MS):
        clock.passes(passed_ms)
        assert listener.now_ms() == clock.now_ms() == clock.time_ms
    assert listener.told == []


@pytest.mark.parametrize("by_ms", [HOUR_MS, -HOUR_MS, STEP_MS, -STEP_MS])
@pytest.mark.parametrize("since_the_last_look_ms", [0, 1, 500, 999, 5_000])
def test_a_clock_that_is_set_is_told_before_it_is_read(
    clock: ScriptedClock, by_ms: int, since_the_last_look_ms: int
) -> None:
    listener = Listener(clock)
    clock.passes(since_the_last_look_ms)
    clock.is_set(by_ms)
    assert listener.now_ms() == clock.time_ms
    assert listener.told == [(by_ms, clock.time_ms)]
    clock.passes(10)
    assert listener.now_ms() == clock.time_ms
    assert len(listener.told) == 1, "once"


def test_a_clock_that_is_put_back_to_the_last_look_is_seen_soon(clock: ScriptedClock) -> None:
    listener = Listener(clock)
    clock.passes(5_000)
    clock.is_set(-5_000)
    assert (listener.now_ms(), listener.told) == (NOW_MS, [])
    clock.passes(STEP_MS)
    listener.now_ms()
    assert listener.told == [(-5_000, clock.time_ms)]


def test_it_may_be_set_again_and_again(clock: ScriptedClock) -> None:
    listener = Listener(clock)
    for by_ms in (HOUR_MS, -HOUR_MS) * 5:
        clock.passes(7)
        clock.is_set(by_ms)
        listener.now_ms()
    assert [by_ms for by_ms, _ in listener.told] == [HOUR_MS, -HOUR_MS] * 5


def test_a_clock_that_is_kept_right_is_nothing_to_be_told(clock: ScriptedClock) -> None:
    listener = Listener(clock)
    for _ in range(10_000):
        clock.passes(997)
        clock.is_set(3)
        listener.now_ms()
    for by_ms in (STEP_MS - 1, 1 - STEP_MS):
        clock.is_set(by_ms)
        listener.now_ms()
    assert listener.told == []


def test_a_process_that_was_stopped_between_two_readings_takes_nothing_for_set() -> None:
    clock = ScriptedClock(NOW_MS)
    stops: list[Callable[[], None]] = []

    def steady_ns() -> int:
        read = clock.steady_ms
        if stops:
            stops.pop()()
        return read * 1_000_000

    listener = Listener(Clock(lambda: clock.time_ms * 1_000_000, steady_ns))
    clock.passes(5_000)
    stops += [lambda: clock.passes(60_000)]
    assert listener.now_ms() == clock.time_ms
    clock.passes(5_000)
    assert listener.now_ms() == clock.time_ms
    assert listener.told == []


def test_who_is_told_may_read_it(clock: ScriptedClock) -> None:
    read: list[int] = []
    now_ms = clock.watched(lambda by_ms, to_ms: read.append(now_ms() - to_ms))
    clock.is_set(HOUR_MS)
    now_ms()
    assert read == [0]


def test_without_a_script_it_tells_the_time() -> None:
    listener = Listener(Clock())
    first = listener.now_ms()
    assert first <= Clock().now_ms() <= first + 60_000
    assert listener.told == []

"""Deadlines: the heap gives each key once, when its latest deadline has come, and never looks at the others."""

from hypothesis import given
from hypothesis import strategies as st

from ottla.coordination.groups.timers import TimerKey, Timers

A, B = ("session", "g", "a"), ("session", "g", "b")


def test_what_is_due_is_given_once_and_in_order() -> None:
    timers = Timers()
    timers.schedule(A, 20)
    timers.schedule(B, 10)
    assert timers.next_deadline_ms() == 10
    assert list(timers.due(20)) == [B, A]
    assert list(timers.due(100)) == []
    assert timers.next_deadline_ms() is None


def test_a_deadline_that_moves_later_stays_one_entry() -> None:
    timers = Timers()
    for beat in range(1000):
        timers.schedule(A, beat + 10)
    assert list(timers.due(500)) == []
    assert list(timers.due(1009)) == [A]


def test_a_deadline_may_move_earlier() -> None:
    timers = Timers()
    timers.schedule(A, 100)
    timers.schedule(A, 10)
    assert list(timers.due(10)) == [A]
    assert list(timers.due(1000)) == []


def test_what_is_cancelled_is_not_due() -> None:
    timers = Timers()
    timers.schedule(A, 10)
    timers.cancel(A)
    assert timers.next_deadline_ms() is None
    assert list(timers.due(100)) == []


STEPS = st.lists(
    st.tuples(
        st.sampled_from([A, B]),
        st.sampled_from(["schedule", "cancel", "tick", "put forward", "put back"]),
        st.integers(0, 50),
    )
)


@given(STEPS)
def test_it_agrees_with_a_dictionary(steps: list[tuple[TimerKey, str, int]]) -> None:
    timers, model, now = Timers(), dict[TimerKey, int](), 0
    for key, what, number in steps:
        if what == "schedule":
            timers.schedule(key, now + number)
            model[key] = now + number
        elif what == "cancel":
            timers.cancel(key)
            model.pop(key, None)
        elif what.startswith("put"):
            by = number if what == "put forward" else -number
            timers.clock_was_set(by)
            now, model = now + by, {each: at + by for each, at in model.items()}
        else:
            now += number
            due = {each for each, deadline in model.items() if deadline <= now}
            assert set(timers.due(now)) == due
            model = {each: at for each, at in model.items() if each not in due}
        earliest = timers.next_deadline_ms()
        assert (earliest is None) == (not model)
        assert earliest is None or earliest <= min(model.values())

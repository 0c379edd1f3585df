"""There is room for as many transactions as the limit says, however seldom they are counted."""

from hypothesis import given
from hypothesis import strategies as st

from ottla.coordination.transactions.room import Room


@given(st.integers(0, 5), st.lists(st.booleans(), max_size=60))
def test_never_are_more_open_than_the_limit_and_room_that_was_freed_is_found(
    limit: int, begins: list[bool]
) -> None:
    open_now = 0
    room = Room(limit, lambda: open_now)
    for begin in begins:
        if not begin:
            open_now = max(open_now - 1, 0)
        elif room.take():
            open_now += 1
            assert open_now <= limit
        else:
            assert open_now >= limit


def test_they_are_counted_only_when_the_room_seems_to_be_gone() -> None:
    counted: list[int] = []
    room = Room(100, lambda: counted.append(1) or 0)
    assert all(room.take() for _ in range(100))
    assert len(counted) == 1
    assert room.take(), "all of them have ended since"
    assert len(counted) == 2

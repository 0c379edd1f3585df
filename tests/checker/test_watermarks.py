"""What the checker says of logs whose bounds are out of order or go back."""

from tests.checker.test_writes import broken


def test_bounds_that_grow_are_fine() -> None:
    assert (
        broken("""
        o  watermarks watermarks=t/0:0/3/5/6
        o  watermarks watermarks=t/0:1/3/6/6,t/1:0/0/0/0
    """)
        == set()
    )


def test_the_last_stable_offset_is_beyond_the_high_watermark() -> None:
    assert broken("o  watermarks watermarks=t/0:0/6/5/7") == {"watermark-order"}


def test_the_high_watermark_is_beyond_the_end() -> None:
    assert broken("o  watermarks watermarks=t/0:0/5/6/5") == {"watermark-order"}


def test_a_high_watermark_goes_back() -> None:
    assert broken("""
        o  watermarks watermarks=t/0:0/3/5/6
        p  watermarks watermarks=t/0:0/3/4/6
    """) == {"watermark-went-back"}


def test_two_who_ask_at_once_may_be_answered_in_any_order() -> None:
    assert (
        broken("""
        o  watermarks watermarks=t/0:0/3/5/6 at=10-30
        p  watermarks watermarks=t/0:0/3/4/6 at=20-40
    """)
        == set()
    )


def test_a_new_leader_may_begin_lower() -> None:
    assert (
        broken("""
        o  watermarks watermarks=t/0:0/3/5/6/1
        o  watermarks watermarks=t/0:0/3/4/4/2
    """)
        == set()
    )

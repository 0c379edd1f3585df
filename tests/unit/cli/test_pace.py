"""How fast a group reads, and when it has caught up."""

from ottla.cli.pace import Pace


def test_a_group_that_reads_faster_than_others_write_catches_up() -> None:
    pace = Pace()
    pace.look(0.0, 0, 1000)
    assert (pace.read_per_s, pace.caught_up_in) == (None, "?")
    pace.look(1.0, 200, 1100)
    assert (pace.read_per_s, pace.written_per_s) == (200, 100)
    assert pace.caught_up_in == "9 s"


def test_one_that_reads_more_slowly_never_does() -> None:
    pace = Pace()
    pace.look(0.0, 0, 1000)
    pace.look(1.0, 10, 2000)
    assert pace.caught_up_in == "never, at this pace"


def test_a_reset_is_no_reading_backwards_and_no_lag_is_now() -> None:
    pace = Pace()
    pace.look(0.0, 500, 500)
    assert pace.caught_up_in == "now"
    pace.look(1.0, 0, 500)
    assert (pace.read_per_s, pace.lag) == (0, 500)

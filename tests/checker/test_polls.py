"""What the checker says of readers that are given records again, out of order, late or not at all."""

from tests.checker.check import check
from tests.checker.expectations import Expectations
from tests.checker.notation import history
from tests.checker.test_writes import broken, noted

THREE = """
    w  send +a@0
    w  send +b@1
    w  send +c@2
    v  poll a@0 b@1
"""


def test_one_poll_leaves_a_record_out() -> None:
    assert broken(THREE + "r  poll a@0 c@2") == {"int-poll-skip"}


def test_a_whole_read_begins_too_late() -> None:
    assert broken(THREE + "r  read_to_end keys=t/0 b@1 c@2") == {"int-poll-skip", "unseen"}


def test_one_poll_goes_back() -> None:
    assert broken(THREE + "r  poll a@0 b@1 a@0") == {"int-nonmonotonic-poll"}


def test_a_rebalance_within_a_poll_excuses_it() -> None:
    assert broken(THREE + "r  poll a@0 b@1 a@0 keys=t/0") == set()


def test_offsets_of_markers_and_of_aborted_records_are_no_gaps() -> None:
    assert (
        broken("""
        w  transaction +a@0
        w  transaction +b@2 -> fail
        w  transaction +c@4
        u  poll b@2 isolation=read_uncommitted
        r  poll a@0 c@4
    """)
        == set()
    )


def test_a_careless_reader_has_to_see_aborted_records() -> None:
    assert broken("""
        w  transaction +a@0
        w  transaction +b@2 -> fail
        w  transaction +c@4
        u  poll a@0 c@4 isolation=read_uncommitted
    """) == {"int-poll-skip"}


def test_the_next_poll_leaves_a_record_out() -> None:
    assert broken(
        THREE
        + """
        r  assign keys=t/0 positions=t/0:0
        r  poll a@0
        r  poll c@2
    """
    ) == {"poll-skip"}


def test_the_first_poll_does_not_begin_where_it_should() -> None:
    assert broken(THREE + """
        r  assign keys=t/0 positions=t/0:0
        r  poll b@1 c@2
    """) == {"poll-skip"}  # fmt: skip


def test_the_next_poll_goes_back() -> None:
    assert broken(
        THREE
        + """
        r  assign keys=t/0
        r  poll a@0 b@1
        r  poll b@1 c@2
    """
    ) == {"nonmonotonic-poll"}


def test_a_reader_that_seeks_may_go_back() -> None:
    assert (
        broken(
            THREE
            + """
        r  poll a@0 b@1
        r  assign keys=t/0 positions=t/0:0
        r  poll a@0 b@1 c@2
    """
        )
        == set()
    )


def test_members_of_a_group_may_see_records_again() -> None:
    text = (
        THREE
        + """
        r  subscribe keys=t/0
        r  poll a@0 b@1
        r  poll b@1 c@2
    """
    )
    assert broken(text) == set()
    assert noted(text) == {"nonmonotonic-poll"}


LATE = """
    w  send +a@0 at=0-10
    w  send +b@1 at=20-30
    r  assign keys=t/0 positions=t/0:0 at=0-1
    r  poll a@0 at=35-40
    r  poll at=1035-1040
    r  poll b@1 at=1050-1060
"""


def test_a_reader_is_not_given_what_has_been_there_for_long() -> None:
    report = check(history(LATE), Expectations(max_lag_ms=500))
    assert report.bad == {"realtime-lag"}
    assert "worst lag 1005 ms" in str(report)


def test_a_lag_within_the_bound_is_fine_and_so_is_one_before_faults_were_repaired() -> None:
    assert check(history(LATE), Expectations(max_lag_ms=2000)).valid
    assert check(history(LATE), Expectations(max_lag_ms=500, lag_counts_from_ms=1045)).valid

"""What the checker says of two rulers at once, of zombies that are believed, and of clusters that stand still."""

from tests.checker.cluster import longest_gap_ms
from tests.checker.evidence import Evidence
from tests.checker.notation import history
from tests.checker.test_writes import broken

ELECTED = """
    c  election node={} facts={{"epoch":{},"elected":{}}} {}
    c  election node={} facts={{"epoch":{},"elected":{}}} {}
"""


def test_one_controller_after_another() -> None:
    assert broken(ELECTED.format(1, 1, 1, "", 2, 2, 2, "")) == set()


def test_two_controllers_in_one_epoch() -> None:
    assert broken(ELECTED.format(1, 1, 1, "", 2, 1, 2, "")) == {"two-controllers"}


def test_one_leader_after_another() -> None:
    assert broken(ELECTED.format(1, 3, 1, "keys=t/0", 1, 4, 2, "keys=t/0")) == set()
    assert broken(ELECTED.format(1, 3, 1, "keys=t/0", 1, 3, 2, "keys=t/1")) == set()


def test_two_leaders_in_one_epoch() -> None:
    assert broken(ELECTED.format(1, 3, 1, "keys=t/0", 2, 3, 2, "keys=t/0")) == {"two-leaders"}


def test_two_controllers_elect_in_one_epoch() -> None:
    assert broken(ELECTED.format(1, 3, 1, "keys=t/0", 2, 3, 1, "keys=t/0")) == {"two-leaders"}


def test_a_zombie_that_is_refused_is_fine() -> None:
    told = 'w  send +a facts={{"zombie":"broker-1"}} -> {}'
    assert broken(told.format("fail")) == broken(told.format("unknown")) == set()


def test_a_zombie_is_believed() -> None:
    assert broken('w  send +a@3 facts={"zombie":"broker-1"}') == {"zombie"}


FAULT = """
    w  send +a@0 +t/1:b@0 at=0-5
    f  fault at=10-10 keys=t/0,t/1 facts={{"what":"kill","progress_within_ms":100}}
    w  send +c@1 at=9-12                  # it may have been acknowledged by whoever is dead now
    w  send +d@2 at={0} -> {1}
    w  send +t/1:e@1 at=20-50
"""


def test_writes_go_on_after_a_fault() -> None:
    assert broken(FAULT.format("20-100", "ok")) == set()


def test_one_log_takes_writes_too_late() -> None:
    assert broken(FAULT.format("20-150", "ok")) == {"no-progress"}


def test_one_log_takes_no_writes_any_more() -> None:
    assert broken(FAULT.format("20-100", "unknown")) == {"no-progress"}
    assert broken(FAULT.format("20-100", "fail")) == {"no-progress"}


def test_the_longest_gap_is_that_of_any_log_since_the_first_fault() -> None:
    said = """
        w  send +a@0 +t/1:b@0 at=0-5          # nobody asks for what was before
        f  fault at=1000-1000 keys=t/0,t/1 facts={"what":"kill"}
        w  send +c@1 +t/1:d@1 at=1000-1010
        w  send +e@2 at=1020-1050
        w  send +t/1:f@2 at=1020-1200 -> fail
        w  send +t/1:g@3 at=1020-1300
    """
    assert longest_gap_ms(Evidence(history(said))) == 290

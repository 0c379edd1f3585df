"""What the checker says of compacted logs that forget the newest record of a key, move it, or show aborted ones."""

from tests.checker.check import check
from tests.checker.expectations import Compaction, Expectations
from tests.checker.notation import history

PROMISE = Compaction(keys=frozenset({"c/0"}), record_key=lambda value: value[0])
WRITTEN = """
    w  send +c/0:a1@0
    w  send +c/0:b1@1
    x  transaction +c/0:b9@2 -> fail
    w  send +c/0:a2@4 +t/0:other@0
    w  send +c/0:a3@5 -> unknown
    r  poll c/0:a1@0 c/0:b1@1
"""


def said_of(read: str) -> set[str]:
    """The promises that a whole read of the compacted log breaks."""
    text = f"{WRITTEN}\n z read_to_end keys=c/0,t/0 t/0:other@0 {read}"
    return check(history(text), Expectations(compactions=(PROMISE,))).bad


def test_older_records_of_a_key_may_go() -> None:
    assert said_of("c/0:b1@1 c/0:a2@4") == set()
    assert said_of("c/0:a1@0 c/0:b1@1 c/0:a2@4") == set()


def test_one_of_unknown_outcome_may_be_the_newest() -> None:
    assert said_of("c/0:b1@1 c/0:a3@5") == set()


def test_the_newest_is_forgotten() -> None:
    assert said_of("c/0:a1@0 c/0:b1@1") == {"compaction-lost"}
    assert said_of("c/0:a2@4") == {"compaction-lost"}


def test_a_record_is_moved() -> None:
    assert said_of("c/0:b1@0 c/0:b1@1 c/0:a2@4") == {"compaction-moved"}


def test_an_aborted_record_shows() -> None:
    assert said_of("c/0:b9@2 c/0:a2@4") == {"compaction-aborted"}


def test_logs_that_are_not_compacted_keep_everything() -> None:
    lost = f"{WRITTEN}\n z read_to_end keys=c/0,t/0 c/0:b1@1 c/0:a2@4"
    assert check(history(lost), Expectations(compactions=(PROMISE,))).bad == {"unseen"}

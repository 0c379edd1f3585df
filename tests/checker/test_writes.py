"""What the checker says of records that were lost, doubled, moved or made up."""

import json
from typing import Any

from tests.checker.check import check
from tests.checker.expectations import Expectations
from tests.checker.notation import history
from tests.checker.replicas import Batch, Replica


def broken(text: str, **promises: Any) -> set[str]:
    """The promises that a history shows to be broken."""
    return check(history(text), Expectations(**promises)).bad


def noted(text: str) -> set[str]:
    """All that is worth a line, broken promise or not."""
    return {anomaly.name for anomaly in check(history(text)).anomalies}


SOUND = """
    w  send +a@0
    w  send +b@1
    x  transaction +c@2 +t/1:d@0
    x  transaction +e@4 -> fail
    x  transaction +f@6 +t/1:g@2 -> unknown
    r  assign keys=t/0,t/1 positions=t/0:0,t/1:0
    r  poll a@0 b@1
    r  poll c@2 t/1:d@0
    u  assign keys=t/0 positions=t/0:1
    u  poll b@1 c@2 e@4 f@6 isolation=read_uncommitted
    r  poll f@6 t/1:g@2
    z  read_to_end keys=t/0,t/1 a@0 b@1 c@2 f@6 t/1:d@0 t/1:g@2
    y  read_to_end keys=t/0 isolation=read_uncommitted a@0 b@1 c@2 e@4 f@6
"""


def test_a_sound_history_raises_nothing() -> None:
    assert noted(SOUND) == set()


def test_two_values_at_one_offset() -> None:
    assert broken("""
        w  send +a@0
        x  send +b@0
    """) == {"inconsistent-offsets"}


def test_two_readers_see_different_values_at_one_offset() -> None:
    found = broken("""
        w  send +a -> unknown
        x  send +b -> unknown
        r  poll a@0
        q  poll b@0
    """)
    assert found == {"inconsistent-offsets"}


TWICE = """
    w  send +a@0
    r  poll a@0 a@1
"""


def test_one_value_at_two_offsets() -> None:
    assert broken(TWICE) == {"duplicate"}


def test_a_producer_without_idempotence_may_repeat_itself() -> None:
    assert broken(TWICE, idempotent=False) == set()
    assert noted(TWICE) == {"duplicate"}


def test_a_client_may_repeat_itself_in_a_new_epoch_after_its_leader_has_moved() -> None:
    def told(*producers: tuple[int, int, int]) -> set[str]:
        batches = [
            Batch(offset, offset, leader_epoch, 0, producer_id, epoch)
            for offset, (leader_epoch, producer_id, epoch) in enumerate(producers)
        ]
        facts = json.dumps(Replica(1, 2, batches, []).facts()).replace(" ", "")
        return broken(f"{TWICE}\n s replica node=1 keys=t/0 facts={facts}")

    assert told((4, 1000, 0), (5, 1000, 1)) == set()
    assert told((4, 1000, 0), (5, 1000, 0)) == {"duplicate"}, "the new leader had to know it"
    assert told((4, 1000, 0), (4, 1000, 1)) == {"duplicate"}, "nothing made the client begin anew"
    assert told((4, 1000, 0), (5, 1001, 0)) == {"duplicate"}, "of another client"


LOST = """
    w  send +a@0
    w  send +b@1
    r  poll b@1
"""


def test_an_acknowledged_record_that_nobody_ever_reads() -> None:
    assert broken(LOST) == {"lost-write"}


def test_without_acks_a_record_may_be_lost() -> None:
    assert broken(LOST, acks_all=False) == set()


def test_a_record_that_is_not_read_yet_is_not_lost() -> None:
    assert (
        broken("""
        w  send +a@0
        w  send +b@1
        r  poll a@0
    """)
        == set()
    )


def test_a_whole_read_that_lacks_an_acknowledged_record() -> None:
    found = broken("""
        w  send +a@0
        w  send +b@1
        z  read_to_end keys=t/0 a@0
    """)
    assert found == {"unseen"}


def test_a_record_that_was_read_and_is_gone() -> None:
    found = broken("""
        w  send +a -> unknown
        r  poll a@0
        z  read_to_end keys=t/0
    """)
    assert found == {"unseen"}


def test_a_whole_read_need_not_have_what_came_during_it() -> None:
    assert (
        broken("""
        w  send +a@0 at=10-30
        z  read_to_end keys=t/0 at=20-40
    """)
        == set()
    )


def test_a_record_that_nobody_sent() -> None:
    assert broken("""
        w  send +a@0
        r  poll a@0 b@1
    """) == {"phantom"}


def test_of_a_log_whose_writers_kept_no_history_nothing_is_said() -> None:
    assert broken("r  poll a@0") == set()


def test_a_record_that_was_sent_to_another_log() -> None:
    report = check(
        history("""
        w  send +t/1:a@0
        w  send +b@1
        r  poll a@0
    """)
    )
    assert report.bad == {"phantom"}
    assert "it was sent to t/1" in str(report)


def test_a_later_record_stands_before_an_earlier_one() -> None:
    found = broken("""
        w  send +a@5
        w  send +b@4
    """)
    assert found == {"nonmonotonic-send"}


def test_a_later_record_of_the_same_transaction_stands_before_an_earlier_one() -> None:
    assert broken("w  transaction +a@5 +b@4") == {"int-nonmonotonic-send"}


def test_a_new_client_may_write_anywhere() -> None:
    assert (
        broken("""
        w  send +a@5
        w  send +b@4 client=1
    """)
        == set()
    )


FOREIGN = """
    v  transaction +a@0 +c@2 at=10-50
    w  transaction +b@1 at=20-40
"""


def test_records_of_transactions_may_interleave() -> None:
    assert broken(FOREIGN) == set()
    assert noted(FOREIGN) == {"int-send-skip", "G0"}


def test_transactions_may_overtake_each_other_in_different_logs() -> None:
    text = """
        v  transaction +a@0 +t/1:b@1 at=10-50
        w  transaction +c@1 +t/1:d@0 at=20-40
    """
    assert broken(text) == set()
    assert noted(text) == {"G0"}

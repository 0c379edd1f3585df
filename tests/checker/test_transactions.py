"""What the checker says of transactions that count in part, too early, or though they were aborted."""

from tests.checker.test_writes import broken


def test_an_aborted_record_is_read() -> None:
    assert broken("""
        w  transaction +a@0 -> fail
        r  poll a@0
    """) == {"aborted-read"}


def test_a_careless_reader_may_see_aborted_records() -> None:
    assert (
        broken("""
        w  transaction +a@0 -> fail
        r  poll a@0 isolation=read_uncommitted
    """)
        == set()
    )


def test_nobody_may_see_a_send_that_was_refused() -> None:
    assert broken("""
        w  send +a -> fail
        r  poll a@0 isolation=read_uncommitted
    """) == {"aborted-read"}


def test_a_transaction_of_unknown_outcome_may_be_read() -> None:
    assert (
        broken("""
        w  transaction +a -> unknown
        r  poll a@0
    """)
        == set()
    )


def test_a_transaction_reads_what_it_has_not_committed() -> None:
    assert broken("w  transaction +a@0 a@0") == {"precommitted-read"}


def test_a_careless_transaction_may_read_itself() -> None:
    assert broken("w  transaction +a@0 a@0 isolation=read_uncommitted") == set()


def test_a_transaction_counts_in_part() -> None:
    found = broken("""
        w  transaction +a +t/1:b -> unknown
        z  read_to_end keys=t/0,t/1 a@0
    """)
    assert found == {"torn-transaction"}


def test_a_torn_transaction_that_was_acknowledged_has_lost_a_record_too() -> None:
    found = broken("""
        w  transaction +a@0 +t/1:b@0
        z  read_to_end keys=t/0,t/1 a@0
    """)
    assert found == {"torn-transaction", "unseen"}


def test_a_part_of_a_transaction_is_lost_before_what_was_read() -> None:
    found = broken("""
        w  transaction +a@0 +b@1 +t/1:c@0 -> unknown
        v  send +d@2
        r  poll t/1:c@0 d@2
    """)
    assert found == {"lost-write"}


def test_a_transaction_of_unknown_outcome_may_count_nowhere() -> None:
    assert (
        broken("""
        w  transaction +a@0 +t/1:b@0 -> unknown
        z  read_to_end keys=t/0,t/1
    """)
        == set()
    )


def test_transactions_read_of_each_other() -> None:
    found = broken("""
        v  transaction +a@0 t/1:b@0 at=10-50
        w  transaction +t/1:b@0 a@0 at=20-60
    """)
    assert found == {"G1c"}


def test_transactions_may_read_of_those_before() -> None:
    assert (
        broken("""
        v  transaction +a@0
        w  transaction +t/1:b@0 a@0
        v  transaction +c@2 t/1:b@0
    """)
        == set()
    )

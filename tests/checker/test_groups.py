"""What the checker says of committed offsets that were forgotten, invented, or taken from the wrong member."""

from tests.checker.test_writes import broken


def test_a_group_is_told_what_it_committed() -> None:
    assert (
        broken("""
        o  fetch_offsets group=g positions=t/0:-1
        m  commit group=g generation=1 positions=t/0:5
        o  fetch_offsets group=g positions=t/0:5
        m  commit group=g generation=1 positions=t/0:3   # it may rewind
        o  fetch_offsets group=g positions=t/0:3
    """)
        == set()
    )


def test_a_group_is_told_more_than_anybody_tried_to_commit() -> None:
    assert broken("""
        m  commit group=g generation=1 positions=t/0:5
        o  fetch_offsets group=g positions=t/0:6
    """) == {"committed-offset-above"}


def test_a_commit_that_was_refused_has_landed() -> None:
    assert broken("""
        m  commit group=g generation=1 positions=t/0:5
        m  commit group=g generation=1 positions=t/0:9 -> fail
        o  fetch_offsets group=g positions=t/0:9
    """) == {"committed-offset-above"}


def test_a_commit_of_unknown_outcome_may_have_landed_or_land_later() -> None:
    assert (
        broken("""
        m  commit group=g generation=1 positions=t/0:5
        m  commit group=g generation=1 positions=t/0:9 -> unknown
        o  fetch_offsets group=g positions=t/0:5
        o  fetch_offsets group=g positions=t/0:9
    """)
        == set()
    )


def test_an_acknowledged_commit_is_forgotten() -> None:
    forgotten = """
        m  commit group=g generation=1 positions=t/0:5
        m  commit group=g generation=1 positions=t/0:9
        o  fetch_offsets group=g positions=t/0:{}
    """
    assert broken(forgotten.format(5)) == {"committed-offset-lost"}
    assert broken(forgotten.format(-1)) == {"committed-offset-lost"}


def test_a_commit_under_way_may_or_may_not_show() -> None:
    racing = """
        m  commit group=g generation=1 positions=t/0:5 at=0-10
        m  commit group=g generation=1 positions=t/0:9 at=20-40
        o  fetch_offsets group=g positions=t/0:{} at=30-50
    """
    assert broken(racing.format(5)) == set()
    assert broken(racing.format(9)) == set()


def test_an_aborted_transaction_has_committed_offsets() -> None:
    assert broken("""
        m  transaction +a@0 group=g generation=1 positions=t/0:5
        m  transaction +b@2 group=g generation=1 positions=t/0:9 -> fail
        o  fetch_offsets group=g positions=t/0:9
    """) == {"committed-offset-above"}


def test_a_former_owner_commits() -> None:
    assert broken("""
        m  commit group=g generation=1 positions=t/0:5
        n  commit group=g generation=2 positions=t/0:9
        m  commit group=g generation=1 positions=t/0:6
    """) == {"stale-commit"}


def test_a_former_owner_that_is_refused_is_fine() -> None:
    assert (
        broken("""
        m  commit group=g generation=1 positions=t/0:5
        n  commit group=g generation=2 positions=t/0:9
        m  commit group=g generation=1 positions=t/0:6 -> fail
        n  commit group=other generation=1 positions=t/0:6
        o  fetch_offsets group=g positions=t/0:9
    """)
        == set()
    )


def test_a_commit_of_a_former_owner_was_under_way_for_long_and_landed() -> None:
    late = """
        m  commit group=g generation=1 positions=t/0:5 at=0-100 -> {}
        n  commit group=g generation=2 positions=t/0:9 at=20-40
        o  fetch_offsets group=g positions=t/0:{} at=110-120
    """
    assert broken(late.format("ok", 5)) == {"committed-offset-lost"}
    assert broken(late.format("unknown", 5)) == {"committed-offset-lost"}
    assert broken(late.format("unknown", 9)) == set()

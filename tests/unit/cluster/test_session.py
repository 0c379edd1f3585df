"""A session: when it counts as lost, whatever the server has or has not said."""

from ottla.cluster.session import Session
from ottla.cluster.tree import SessionState

CONNECTED, SUSPENDED, LOST = SessionState.CONNECTED, SessionState.SUSPENDED, SessionState.LOST


def connected(at_ms: int = 1_000, timeout_ms: int = 6_000) -> Session:
    session = Session()
    assert session.tick(0) is LOST, "there is none before the first connection"
    session.connected(7, timeout_ms, at_ms)
    return session


def test_a_session_lasts_as_long_as_answers_come() -> None:
    session = connected()
    for now_ms in range(2_000, 60_000, 2_000):
        session.heard(now_ms)
        assert session.tick(now_ms + 1_999) is CONNECTED
    assert session.tick(64_001) is LOST


def test_a_broken_connection_leaves_what_is_left_of_the_lease_and_no_more() -> None:
    session = connected()
    session.heard(3_000)
    session.disconnected(7_000)
    assert session.state is SUSPENDED
    assert session.tick(8_999) is SUSPENDED
    assert session.tick(9_000) is LOST, "counted from what was answered, not from the break"


def test_a_session_taken_up_in_time_goes_on() -> None:
    session = connected()
    session.disconnected(2_000)
    session.connected(7, 6_000, 3_000)
    assert session.tick(8_999) is CONNECTED
    assert session.tick(9_000) is LOST


def test_a_process_that_slept_finds_its_session_lost_before_anybody_tells() -> None:
    assert connected().tick(1_000_000) is LOST


def test_a_break_noticed_too_late_is_a_loss() -> None:
    session = connected()
    session.disconnected(7_000)
    assert session.state is LOST


def test_a_lost_session_is_followed_by_another() -> None:
    session = connected()
    session.expired()
    session.heard(1_500)
    assert session.tick(1_600) is LOST, "an answer that comes late does not bring it back"
    session.connected(8, 4_000, 20_000)
    assert (session.tick(20_001), session.session_id, session.ends_ms) == (CONNECTED, 8, 24_000)

"""What a follower tells its leader, and what it need not say again."""

import uuid

from ottla.replication.follower_session import FollowerSession, Key, Wanted

TOPIC = uuid.UUID(int=7)


def wanted(*offsets: int | None) -> dict[Key, Wanted | None]:
    return {
        (TOPIC, n): None if offset is None else Wanted(3, offset, 2, 0, 1024)
        for n, offset in enumerate(offsets)
    }


def named(session: FollowerSession, want: dict[Key, Wanted | None]) -> tuple[list[int], list[int]]:
    """The partitions that the next fetch names, and those it has forgotten."""
    topics, forgotten = session.next(want)
    return (
        [each.partition for topic in topics for each in topic.partitions],
        [index for topic in forgotten for index in topic.partitions],
    )


def test_the_first_fetch_names_everything_the_next_only_what_changed() -> None:
    session = FollowerSession()
    assert (session.id, session.epoch) == (0, 0)
    assert named(session, wanted(5, 5)) == ([0, 1], [])
    session.answered(77)
    assert (session.id, session.epoch) == (77, 1)
    assert named(session, wanted(5, 9)) == ([1], [])
    session.answered(77)
    assert session.epoch == 2


def test_what_is_no_longer_followed_is_forgotten() -> None:
    session = FollowerSession()
    named(session, wanted(5, 5))
    session.answered(77)
    assert named(session, wanted(5, None)) == ([], [1])
    session.answered(77)
    assert named(session, wanted(5, None)) == ([], []), "once is enough"
    session.answered(77)
    assert named(session, wanted(5, 5)) == ([1], [])


def test_what_is_not_looked_at_stays_as_it_was() -> None:
    session = FollowerSession()
    named(session, wanted(5, 5))
    session.answered(77)
    assert named(session, {}) == ([], [])
    session.answered(77)
    assert named(session, wanted(6)) == ([0], [])


def test_without_a_session_every_fetch_is_full() -> None:
    session = FollowerSession()
    named(session, wanted(5))
    session.answered(0)
    assert (session.id, session.epoch) == (0, 0)
    assert named(session, wanted(5)) == ([0], [])


def test_after_a_lost_connection_everything_is_said_again() -> None:
    session = FollowerSession()
    named(session, wanted(5))
    session.answered(77)
    session.begin_anew()
    assert named(session, wanted(5)) == ([0], [])

"""Fetch sessions (KIP-227): what a client need not say twice."""

from itertools import count

from ottla.broker.fetch_sessions import EVICTION_MS, FetchSessions, Opened
from ottla.protocol.errors import ErrorCode
from ottla.protocol.fetch_frames import FetchPartition, FetchRequest, PartitionData


def request(
    session_id: int, epoch: int, offsets: dict[int, int], forgotten: list[int] | None = None
) -> FetchRequest:
    partitions = [
        FetchPartition(index, -1, offset, -1, -1, 1000) for index, offset in offsets.items()
    ]
    return FetchRequest(
        -1, -1, 500, 1, 10_000, False, session_id, epoch, [("t", partitions)], [("t", forgotten or [])], ""
    )  # fmt: skip


def sessions(slots: int = 10) -> FetchSessions:
    ids = count(1)
    return FetchSessions(slots, lambda: next(ids))


def offsets(opened: Opened) -> dict[int, int]:
    return {partition.partition: partition.fetch_offset for _, partition in opened.partitions}


def test_a_client_without_a_session_gets_none() -> None:
    cache = sessions()
    opened = cache.open(request(0, -1, {0: 5}), False, 0)
    assert (opened.error, opened.session, offsets(opened)) == (0, None, {0: 5})
    assert len(cache) == 0


def test_only_changes_are_sent_after_the_first_request() -> None:
    cache = sessions()
    first = cache.open(request(0, 0, {0: 0, 1: 0, 2: 0}), False, 0)
    assert first.session is not None
    assert not first.incremental
    second = cache.open(request(first.session.id, 1, {1: 7}, forgotten=[2]), False, 1)
    assert second.incremental
    assert offsets(second) == {0: 0, 1: 7}


def test_a_wrong_epoch_or_an_unknown_session_is_an_error_the_client_knows() -> None:
    cache = sessions()
    opened = cache.open(request(0, 0, {0: 0}), False, 0)
    assert opened.session is not None
    assert (
        cache.open(request(opened.session.id, 5, {}), False, 0).error
        == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    )
    assert cache.open(request(99, 1, {}), False, 0).error == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert (
        cache.open(request(opened.session.id, 1, {}), True, 0).error
        == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
    )


def test_the_final_epoch_closes_the_session() -> None:
    cache = sessions()
    opened = cache.open(request(0, 0, {0: 0}), False, 0)
    assert opened.session is not None
    cache.open(request(opened.session.id, -1, {0: 0}), False, 0)
    assert len(cache) == 0


def test_a_full_cache_refuses_newcomers_and_evicts_the_idle() -> None:
    cache = sessions(slots=2)
    for _ in range(2):
        cache.open(request(0, 0, {0: 0}), False, 0)
    assert cache.open(request(0, 0, {0: 0}), False, 1000).session is None
    assert cache.open(request(0, 0, {0: 0}), False, EVICTION_MS + 1).session is not None
    assert (len(cache), cache.evictions) == (2, 1)


def test_a_larger_client_displaces_an_old_smaller_one() -> None:
    cache = sessions(slots=1)
    small = cache.open(request(0, 0, {0: 0}), False, 0).session
    assert small is not None
    cache.open(request(small.id, 1, {}), False, EVICTION_MS)
    assert cache.open(request(0, 0, {0: 0}), False, EVICTION_MS + 1).session is None
    assert cache.open(request(0, 0, {0: 0, 1: 0}), False, EVICTION_MS + 1).session is not None


def test_a_reply_mentions_only_news() -> None:
    cache = sessions()
    session = cache.open(request(0, 0, {0: 0, 1: 0}), False, 0).session
    assert session is not None
    quiet = PartitionData(0, 0, 10, 10, 0)
    session.tell(("t", 0), quiet)
    assert not session.is_news(("t", 0), quiet)
    assert session.is_news(("t", 0), quiet._replace(high_watermark=11))
    assert session.is_news(("t", 0), quiet._replace(error=3))
    assert session.is_news(("t", 0), quiet._replace(records=b"x"))
    assert session.is_news(("t", 0), quiet._replace(preferred_read_replica=2))


def test_recovery_from_an_error_is_news() -> None:
    session = sessions().open(request(0, 0, {0: 0}), False, 0).session
    assert session is not None
    session.tell(("t", 0), PartitionData(0, 0, 10, 10, 0))
    session.tell(("t", 0), PartitionData(0, ErrorCode.KAFKA_STORAGE_ERROR))
    assert session.is_news(("t", 0), PartitionData(0, 0, 10, 10, 0))


def test_whoever_got_records_goes_to_the_end_of_the_line() -> None:
    session = sessions().open(request(0, 0, {0: 0, 1: 0}), False, 0).session
    assert session is not None
    session.tell(("t", 0), PartitionData(0, 0, 10, 10, 0, b"x"))
    assert list(session.partitions) == [("t", 1), ("t", 0)]


def test_a_follower_that_must_cut_its_log_is_told_again_what_is_committed() -> None:
    opened = sessions().open(request(0, 0, {0: 5}), False, 0)
    assert opened.session is not None
    cut = PartitionData(0, 0, 10, 10, 0, diverging_epoch=(3, 4))
    opened.session.tell(("t", 0), cut)
    assert opened.session.is_news(("t", 0), PartitionData(0, 0, 10, 10, 0))

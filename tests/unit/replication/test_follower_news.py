"""A follower's fetch looks at what has changed since the last one, and at everything only now and then."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.config.log import LogConfig
from ottla.replication.follower_news import FollowerNews, News
from ottla.replication.partition import Partition
from tests.unit.replication.test_partition import Sleeper, Watch, append, placed
from tests.unit.storage.samples import NOW_MS, TP, open_log

ME, FOLLOWER, STRANGER = 1, 2, 9
SESSION = 77


@pytest.fixture
def news() -> FollowerNews:
    return FollowerNews()


@pytest.fixture
def partition(tmp_path: Path, news: FollowerNews) -> Iterator[Partition]:
    """Led here, and followed by one other."""
    watch, log = Watch([]), open_log(tmp_path, LogConfig())
    watch.changed = news.note
    both = placed(isr=(ME, FOLLOWER), replicas=(ME, FOLLOWER))
    yield Partition(TP, log, both, node_id=ME, watch=watch, now_ms=NOW_MS)
    log.close()


def begun(news: FollowerNews) -> tuple[News, Sleeper]:
    fetch = Sleeper()
    mine = news.begin(FOLLOWER, SESSION, NOW_MS)
    mine.waiter = fetch
    return mine, fetch


def test_an_append_is_news_to_followers_and_wakes_them(
    partition: Partition, news: FollowerNews
) -> None:
    mine, fetch = begun(news)
    others = news.begin(STRANGER, SESSION, NOW_MS)
    append(partition, 3)
    assert list(mine.changed) == [partition]
    assert fetch.woken == 1
    assert not others.changed


def test_what_is_committed_by_a_follower_is_told_with_the_next_answer(
    partition: Partition, news: FollowerNews
) -> None:
    append(partition, 3)
    mine, fetch = begun(news)
    partition.replica_fetched(FOLLOWER, 1, 3, NOW_MS)
    assert partition.high_watermark == 3
    assert (list(mine.changed), fetch.woken) == ([partition], 0)


def test_another_leader_is_news_at_once(partition: Partition, news: FollowerNews) -> None:
    mine, fetch = begun(news)
    partition.place(partition.placed._replace(leader=FOLLOWER, leader_epoch=6), NOW_MS)
    assert partition in mine.changed
    assert fetch.woken > 0


def test_news_are_those_of_one_session_and_grow_old(news: FollowerNews) -> None:
    mine = news.begin(FOLLOWER, SESSION, NOW_MS)
    assert news.of(FOLLOWER) is mine
    assert mine.suffices(SESSION, NOW_MS + 499)
    assert not mine.suffices(SESSION + 1, NOW_MS)
    assert not mine.suffices(SESSION, NOW_MS + 500), "everything is looked at again"

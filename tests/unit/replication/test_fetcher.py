"""A follower goes on whatever happens: to a log of it while a sync is awaited, or in a way that nobody foresaw."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ottla.base.errors import StorageError
from ottla.base.tasks import LOOP_FAILURES, Tasks
from ottla.config.log import LogConfig
from ottla.protocol.apis.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from ottla.protocol.records.batch import iter_headers
from ottla.replication.fetcher import LOOP
from ottla.replication.fetchers import Fetchers
from ottla.replication.partition import Partition
from tests.unit.replication.test_partition import Watch, placed
from tests.unit.storage.samples import NOW_MS, TOPIC_ID, TP, make_batch, open_log

pytestmark = pytest.mark.interpreted
LEADER = 2


class Leader:
    """Another broker: it has one more record whenever it is asked, and notes from where on it was."""

    def __init__(self) -> None:
        self.membership = SimpleNamespace(broker_id=1, broker_epoch=1)
        self.asked: list[int] = []
        self.opened = 0

    async def open(self, broker_id: int) -> "Leader":
        """A connection to it."""
        assert broker_id == LEADER
        self.opened += 1
        return self

    async def close(self) -> None:
        """Nothing is open."""

    async def ask(self, request: FetchRequest, timeout_ms: int) -> FetchResponse:
        """One batch behind what the follower has; without a session every fetch names everything."""
        await asyncio.sleep(0)
        if not request.topics:
            return FetchResponse()
        wanted = request.topics[0].partitions[0]
        self.asked.append(wanted.fetch_offset)
        batch = make_batch()
        batch[:8] = wanted.fetch_offset.to_bytes(8, "big")
        assert [header.base_offset for _, header in iter_headers(batch)] == [wanted.fetch_offset]
        data = PartitionData(
            partition_index=0, high_watermark=0, log_start_offset=0, records=bytes(batch)
        )
        return FetchResponse(
            responses=[FetchableTopicResponse(topic_id=TOPIC_ID, partitions=[data])]
        )


async def follow(
    directory: Path,
    synced: Callable[[object, int], "asyncio.Future[None]"],
    until: Callable[[Leader], bool],
) -> Leader:
    """Follow the leader until it has seen enough."""
    leader, tasks = Leader(), Tasks()
    log = open_log(directory, LogConfig(flush_messages=1))
    follower = Partition(
        TP, log, placed()._replace(leader=LEADER), node_id=1, watch=Watch([]), now_ms=NOW_MS
    )
    replication = SimpleNamespace(
        replica_fetch_wait_max_ms=500,
        replica_fetch_min_bytes=1,
        replica_fetch_response_max_bytes=1 << 20,
        replica_fetch_max_bytes=1 << 20,
        replica_socket_timeout_ms=1000,
        replica_fetch_backoff_ms=1,
    )
    fetchers = Fetchers(
        *(leader, SimpleNamespace(flusher=SimpleNamespace(synced=synced))),  # type: ignore[arg-type]
        SimpleNamespace(now=SimpleNamespace(replication=replication)),  # type: ignore[arg-type]
        tasks,
        lambda: NOW_MS,
    )
    fetchers.place(follower)
    try:
        async with asyncio.timeout(20):
            while not until(leader):
                await asyncio.sleep(0.001)
    finally:
        await tasks.cancel()
        log.close(clean=False)
    return leader


def fails_the_first_time(failure: Exception) -> Callable[[object, int], "asyncio.Future[None]"]:
    """A sync that fails once."""
    failures = [failure]

    def synced(log: object, offset: int) -> "asyncio.Future[None]":
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if failures:
            future.set_exception(failures.pop())
        else:
            future.set_result(None)
        return future

    return synced


def test_a_follower_whose_sync_fails_fetches_again(tmp_path: Path) -> None:
    synced = fails_the_first_time(StorageError("too many open files"))
    leader = asyncio.run(follow(tmp_path, synced, lambda leader: len(leader.asked) > 3))
    assert leader.asked[:3] == [0, 1, 2]
    assert leader.opened == 1, "the other partitions of the leader have noticed nothing"


def test_a_fetcher_survives_what_nobody_foresaw(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    before = LOOP_FAILURES.labels(loop=LOOP).value
    synced = fails_the_first_time(RuntimeError("a flaw"))
    leader = asyncio.run(follow(tmp_path, synced, lambda leader: len(leader.asked) > 3))
    assert leader.asked[:3] == [0, 1, 2]
    assert LOOP_FAILURES.labels(loop=LOOP).value == before + 1
    assert "the loop goes on" in caplog.text


def test_one_partition_with_a_flaw_does_not_keep_the_others_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flaws = [KeyError("a flaw")]
    append = Partition.append_fetched

    def append_at_last(self: Partition, batches: Any, now_ms: int) -> int:
        if flaws:
            raise flaws.pop()
        return append(self, batches, now_ms)

    monkeypatch.setattr(Partition, "append_fetched", append_at_last)
    synced = fails_the_first_time(StorageError("not this time"))
    leader = asyncio.run(follow(tmp_path, synced, lambda leader: len(leader.asked) > 3))
    assert (leader.asked[:3], leader.opened) == ([0, 0, 1], 1)

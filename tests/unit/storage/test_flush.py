"""Durability: what a flush syncs, how waiting callers are grouped, what a failure means."""

import asyncio
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ottla.base.errors import DiskFull, LogDirOffline, StorageError
from ottla.config.log import LogConfig
from ottla.storage import fs
from ottla.storage.flush import Flusher
from tests.unit.storage.samples import NOW_MS, append, fill, make_batch, open_log

SMALL = LogConfig(segment_bytes=8192, index_interval_bytes=1024)


@pytest.fixture
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


class SlowDisk:
    """Stands between the flusher and fdatasync: counts syncs and holds them back."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.syncs = 0
        self.go_on = threading.Event()
        self._real = fs.datasync
        monkeypatch.setattr(fs, "datasync", self.datasync)

    def datasync(self, fd: int) -> None:
        self.go_on.wait(10)
        self.syncs += 1
        self._real(fd)


def test_a_flush_moves_the_synced_offset_to_where_it_began(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log, make_batch(3))
    ticket = log.flush_begin()
    assert ticket is not None
    append(log, make_batch(3))
    ticket.run()
    log.flush_done(ticket)
    assert (log.synced_offset, log.recovery_point, log.end_offset) == (3, 0, 6)


def test_nothing_new_needs_no_flush(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    assert log.flush_begin() is None
    fill(log, 3)
    for checkpoint in (False, True):
        ticket = log.flush_begin(checkpoint=checkpoint)
        assert ticket is not None
        ticket.run()
        log.flush_done(ticket)
        assert log.flush_begin(checkpoint=checkpoint) is None


def test_a_checkpoint_writes_all_that_recovery_would_rebuild(tmp_path: Path) -> None:
    log = open_log(tmp_path, SMALL)
    fill(log, 30)
    ticket = log.flush_begin(checkpoint=True)
    assert ticket is not None
    ticket.run()
    log.flush_done(ticket)
    names = set(os.listdir(log.directory))
    assert log.recovery_point == 300
    assert log.unflushed_bytes == 0
    assert f"{300:020d}.snapshot" in names
    assert "leader-epoch-checkpoint" in names
    assert len([name for name in names if name.endswith(".index")]) == len(log.segments)


def test_unflushed_bytes_count_what_came_after_the_checkpoint(tmp_path: Path) -> None:
    log = open_log(tmp_path, SMALL)
    fill(log, 3)
    ticket = log.flush_begin(checkpoint=True)
    assert ticket is not None
    ticket.run()
    log.flush_done(ticket)
    before = log.size_bytes
    fill(log, 30)
    assert len(log.segments) > 2
    assert log.unflushed_bytes == log.size_bytes - before


def test_the_snapshot_of_an_earlier_checkpoint_goes(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    for _ in range(3):
        fill(log, 1)
        ticket = log.flush_begin(checkpoint=True)
        assert ticket is not None
        ticket.run()
        log.flush_done(ticket)
    assert [path.name for path in Path(log.directory).glob("*.snapshot")] == [f"{30:020d}.snapshot"]


def test_a_flush_across_a_truncation_counts_for_nothing(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    fill(log, 3)
    ticket = log.flush_begin()
    assert ticket is not None
    log.truncate_to(10, NOW_MS)
    append(log, make_batch(50))
    ticket.run()
    log.flush_done(ticket)
    assert log.synced_offset == 0


def test_flush_messages_says_when_to_wait(tmp_path: Path) -> None:
    log = open_log(tmp_path, LogConfig(flush_messages=1))
    assert not log.wants_sync
    append(log, make_batch())
    assert log.wants_sync
    log.config = LogConfig()
    assert not log.wants_sync


def test_one_sync_acknowledges_all_that_came_before(
    tmp_path: Path, executor: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        log = open_log(tmp_path)
        disk = SlowDisk(monkeypatch)
        flusher = Flusher(executor)
        first = flusher.synced(log, append(log, make_batch()).last_offset + 1)
        await asyncio.sleep(0)
        rest = [flusher.synced(log, append(log, make_batch()).last_offset + 1) for _ in range(100)]
        disk.go_on.set()
        await asyncio.wait_for(asyncio.gather(first, *rest), 10)
        assert disk.syncs <= 3
        assert log.synced_offset == 101
        assert flusher.synced(log, 101).done()
        await flusher.drain()

    asyncio.run(scenario())


def test_a_failed_sync_takes_the_directory_offline_and_fails_the_waiting(
    tmp_path: Path, executor: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(fd: int) -> None:
        raise LogDirOffline("fdatasync failed: Input/output error")

    async def scenario() -> None:
        log = open_log(tmp_path)
        flusher = Flusher(executor)
        append(log, make_batch())
        with pytest.raises(LogDirOffline):
            await flusher.synced(log, 1)
        assert log.log_dir.offline is not None
        with pytest.raises(LogDirOffline):
            append(log, make_batch())
        assert log.synced_offset == 0

    monkeypatch.setattr(fs, "datasync", broken)
    asyncio.run(scenario())


def test_a_full_disk_during_a_checkpoint_is_tried_again(
    tmp_path: Path, executor: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: str, data: bytes, **options: bool) -> None:
        raise DiskFull("no space")

    async def scenario() -> None:
        log = open_log(tmp_path)
        flusher = Flusher(executor)
        append(log, make_batch())
        with monkeypatch.context() as patched:
            patched.setattr(fs, "write_atomic", full)
            with pytest.raises(DiskFull):
                await flusher.flush(log, checkpoint=True)
        assert log.log_dir.offline is None
        assert log.recovery_point == 0
        await flusher.flush(log, checkpoint=True)
        assert log.recovery_point == 1
        assert fs.exists(f"{log.directory}/leader-epoch-checkpoint")

    asyncio.run(scenario())


def test_waiting_for_what_was_truncated_fails(tmp_path: Path, executor: ThreadPoolExecutor) -> None:
    async def scenario() -> None:
        log = open_log(tmp_path)
        fill(log, 3)
        waiting = Flusher(executor).synced(log, 30)
        log.truncate_to(10, NOW_MS)
        with pytest.raises(StorageError, match="truncated"):
            await asyncio.wait_for(waiting, 10)

    asyncio.run(scenario())

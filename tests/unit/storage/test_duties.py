"""Background work: flushes, checkpoints, retention, expiry."""

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ottla.base.errors import DiskFull
from ottla.base.ids import TopicPartition
from ottla.config.log import LogConfig
from ottla.config.storage import StorageConfig
from ottla.storage import checkpoint, duties, fs
from ottla.storage.duties import Duties
from ottla.storage.logs import Logs
from tests.unit.storage.samples import NOW_MS, TOPIC_ID, TP, append, fill, make_batch

SMALL = LogConfig(segment_bytes=8192, index_interval_bytes=1024, file_delete_delay_ms=1)


class Clock:
    """A clock that moves when told to."""

    def __init__(self) -> None:
        self.now_ms = NOW_MS

    def __call__(self) -> int:
        return self.now_ms


def with_logs(
    path: Path,
    scenario: Callable[[Logs, Duties, Clock], Awaitable[None]],
    config: LogConfig = SMALL,
) -> None:
    async def bounded() -> None:
        clock = Clock()
        logs = Logs(StorageConfig(log_dirs=(str(path),)), lambda topic: config, clock)
        logs.lock()
        logs.identify("cluster", 1, "embedded")
        logs.open({})
        await asyncio.wait_for(scenario(logs, Duties(logs, clock), clock), 30)
        await logs.close()

    asyncio.run(bounded())


def test_a_log_with_much_unflushed_is_checkpointed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duties, "FLUSH_BYTES", 5_000)

    async def scenario(logs: Logs, duty: Duties, clock: Clock) -> None:
        log = logs.create(TP, TOPIC_ID)
        fill(log, 2)
        log.last_flush_ms = clock.now_ms
        await duty.flush_due_logs()
        assert log.recovery_point == 0
        fill(log, 10)
        await duty.flush_due_logs()
        assert log.recovery_point == log.end_offset

    with_logs(tmp_path, scenario)


def test_flush_ms_flushes_by_time(tmp_path: Path) -> None:
    async def scenario(logs: Logs, duty: Duties, clock: Clock) -> None:
        log = logs.create(TP, TOPIC_ID)
        log.last_flush_ms = clock.now_ms
        append(log, make_batch())
        await duty.flush_due_logs()
        assert log.synced_offset == 0
        clock.now_ms += 1000
        await duty.flush_due_logs()
        assert log.synced_offset == 1

    with_logs(tmp_path, scenario, LogConfig(flush_ms=1000))


def test_checkpoints_are_written_once_for_each_change(tmp_path: Path) -> None:
    async def scenario(logs: Logs, duty: Duties, clock: Clock) -> None:
        log = logs.create(TP, TOPIC_ID)
        fill(log, 3)
        log.high_watermark = 20
        log.advance_start_offset(7)
        await duty.write_checkpoints()
        assert checkpoint.read(str(tmp_path), checkpoint.HIGH_WATERMARKS) == {TP: 20}
        assert checkpoint.read(str(tmp_path), checkpoint.START_OFFSETS) == {TP: 7}
        assert checkpoint.read(str(tmp_path), checkpoint.RECOVERY_POINTS) == {TP: 0}
        path = tmp_path / checkpoint.HIGH_WATERMARKS
        before = path.stat().st_ino
        await duty.write_checkpoints()
        assert path.stat().st_ino == before

    with_logs(tmp_path, scenario)


def test_expired_segments_are_unlinked_after_the_delay(tmp_path: Path) -> None:
    async def scenario(logs: Logs, duty: Duties, clock: Clock) -> None:
        log = logs.create(TP, TOPIC_ID)
        fill(log, 30)
        log.high_watermark = log.end_offset
        clock.now_ms += 10**10
        await duty.apply_retention()
        assert log.start_offset == 300
        while any(name.endswith(".deleted") for name in os.listdir(log.directory)):
            await asyncio.sleep(0.001)

    with_logs(tmp_path, scenario)


def test_retention_makes_room_on_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: str, data: bytes, **options: bool) -> None:
        raise DiskFull("no space")

    async def scenario(logs: Logs, duty: Duties, clock: Clock) -> None:
        log = logs.create(TP, TOPIC_ID)
        fill(log, 30)
        log.high_watermark = log.end_offset
        clock.now_ms += 10**10
        with monkeypatch.context() as patched:
            patched.setattr(fs, "write_atomic", full)
            await duty.apply_retention()
        assert len(log.segments) == 1
        assert 0 < log.start_offset < 300
        await duty.apply_retention()
        assert log.start_offset == 300

    with_logs(tmp_path, scenario)


def test_silent_producers_are_forgotten(tmp_path: Path) -> None:
    async def scenario(logs: Logs, duty: Duties, clock: Clock) -> None:
        log = logs.create(TP, TOPIC_ID)
        append(log, make_batch(producer_id=7))
        clock.now_ms += logs.config.producer_id_expiration_ms - 1
        await duty.expire_producers()
        assert 7 in log.producers
        clock.now_ms += 1
        await duty.expire_producers()
        assert 7 not in log.producers

    with_logs(tmp_path, scenario)


def test_the_loop_gets_its_turn_between_slices_of_many_logs(tmp_path: Path) -> None:
    async def scenario(logs: Logs, duty: Duties, clock: Clock) -> None:
        for partition in range(250):
            logs.create(TopicPartition("many", partition), TOPIC_ID)
        turns = 0

        async def count_turns() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        counting = asyncio.ensure_future(count_turns())
        await duty.apply_retention()
        counting.cancel()
        assert turns >= 2

    with_logs(tmp_path, scenario)


def test_retention_reads_the_disk_in_a_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def write(logs: Logs, duty: Duties, clock: Clock) -> None:
        fill(logs.create(TP, TOPIC_ID), 60)
        await duty.write_checkpoints()

    with_logs(tmp_path, write)
    config = replace(SMALL, retention_ms=10_000)
    read_file, on_the_loop = fs.read_file, list[str]()

    def noted(path: str) -> bytes | None:
        if threading.current_thread() is threading.main_thread() and path.endswith(".timeindex"):
            on_the_loop.append(path)
        return read_file(path)

    async def expire(logs: Logs, duty: Duties, clock: Clock) -> None:
        log = logs.get(TP)
        assert log is not None
        before, log.high_watermark = len(log.segments), log.end_offset
        clock.now_ms = NOW_MS + 30_000
        monkeypatch.setattr(fs, "read_file", noted)
        await duty.apply_retention()
        monkeypatch.undo()
        assert 1 < len(log.segments) < before
        assert on_the_loop == []

    async def reopened() -> None:
        clock = Clock()
        logs = Logs(StorageConfig(log_dirs=(str(tmp_path),)), lambda topic: config, clock)
        logs.lock()
        logs.identify("cluster", 1, "embedded")
        logs.open({TP: TOPIC_ID})
        await asyncio.wait_for(expire(logs, Duties(logs, clock), clock), 30)
        await logs.close()

    asyncio.run(reopened())

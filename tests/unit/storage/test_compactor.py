"""The broker's side of compaction, with a real cleaner process."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ottla.config.storage import StorageConfig
from ottla.protocol.records.builder import build_batch
from ottla.protocol.records.record import Record
from ottla.storage import checkpoint, metrics
from ottla.storage.compactor import Compactor
from ottla.storage.duties import Duties
from ottla.storage.log import Log
from ottla.storage.logs import Logs
from tests.unit.storage.compacting import COMPACT, records_of, roll, view_of
from tests.unit.storage.samples import NOW_MS, TOPIC_ID, TP, append, fill

SLOW_BYTES_PER_SECOND = 20_000.0
Scenario = Callable[[Logs, Compactor], Awaitable[None]]


def with_compactor(path: Path, scenario: Scenario, **storage: object) -> None:
    """Run a scenario with one log and a compactor of its own."""

    async def bounded() -> None:
        config = StorageConfig(log_dirs=(str(path),), **storage)  # type: ignore[arg-type]
        logs = Logs(config, lambda topic: COMPACT, lambda: NOW_MS)
        logs.lock()
        logs.identify("cluster", 1, "embedded")
        logs.open({})
        compactor = Compactor(logs, lambda: NOW_MS, lambda delay_ms, paths: None)
        await asyncio.wait_for(scenario(logs, compactor), 30)
        await logs.close(clean=False)

    asyncio.run(bounded())


def write_updates(log: Log, rounds: int = 10) -> None:
    for n in range(rounds):
        records = [Record(0, NOW_MS, b"key-%d" % m, b"%d" % n * 50) for m in range(20)]
        append(log, build_batch(records))
        roll(log)


async def started(compactor: Compactor) -> int:
    """The process id of the cleaner once it is at work."""
    while compactor._process is None:
        await asyncio.sleep(0.01)
    return compactor._process.pid


def is_running(pid: int) -> bool:
    return os.path.exists(f"/proc/{pid}")


def damage(path: str) -> None:
    with open(path, "r+b") as file:
        file.seek(100)
        file.write(b"damage")


def cleaned_files(log: Log) -> list[Path]:
    return list(Path(log.directory).glob("*.cleaned"))


def test_a_dirty_log_is_compacted_by_a_child_process(tmp_path: Path) -> None:
    async def scenario(logs: Logs, compactor: Compactor) -> None:
        log = logs.create(TP, TOPIC_ID)
        write_updates(log)
        before, size = view_of(log), log.size_bytes
        runs, read = metrics.CLEANER_RUNS.value, metrics.CLEANER_READ_BYTES.value
        assert await compactor.compact_due_logs()
        assert view_of(log) == before
        assert len(records_of(log)) == len(before)
        assert log.first_dirty_offset == 200
        assert metrics.CLEANER_RUNS.value == runs + 1
        assert metrics.CLEANER_READ_BYTES.value == read + 2 * size
        assert not await compactor.compact_due_logs(), "nothing is dirty any more"
        assert not cleaned_files(log)

    with_compactor(tmp_path, scenario)


def test_the_filthiest_log_comes_first(tmp_path: Path) -> None:
    async def scenario(logs: Logs, compactor: Compactor) -> None:
        other = logs.create(TP._replace(partition=1), TOPIC_ID)
        write_updates(other, 4)
        other.first_dirty_offset = 20
        log = logs.create(TP, TOPIC_ID)
        write_updates(log, 4)
        picked = await compactor._pick()
        assert picked is not None
        assert picked.log is log
        assert metrics.CLEANER_MAX_DIRTY_RATIO.value == 1.0
        assert await compactor.compact_due_logs()
        assert log.first_dirty_offset == other.first_dirty_offset == 80

    with_compactor(tmp_path, scenario)


def test_a_log_without_the_policy_is_left_alone(tmp_path: Path) -> None:
    async def scenario(logs: Logs, compactor: Compactor) -> None:
        log = logs.create(TP, TOPIC_ID)
        write_updates(log)
        logs.configure(TP.topic, replace(COMPACT, cleanup_policy=frozenset({"delete"})))
        assert not await compactor.compact_due_logs()
        logs.configure(TP.topic, replace(COMPACT, cleanup_policy=frozenset({"delete", "compact"})))
        assert await compactor.compact_due_logs()

    with_compactor(tmp_path, scenario)


def truncate(logs: Logs, log: Log) -> None:
    log.truncate_to(150, NOW_MS)
    fill(log, 50)


def change_policy(logs: Logs, log: Log) -> None:
    logs.configure(TP.topic, replace(COMPACT, cleanup_policy=frozenset({"delete"})))


def delete_topic(logs: Logs, log: Log) -> None:
    logs.delete(TP)


def delete_segments(logs: Logs, log: Log) -> None:
    log.advance_start_offset(60)
    log.delete_expired(NOW_MS, log.end_offset)


@pytest.mark.parametrize("change", [truncate, change_policy, delete_topic, delete_segments])
def test_work_on_a_log_that_has_changed_is_thrown_away(
    tmp_path: Path, change: Callable[[Logs, Log], None]
) -> None:
    async def scenario(logs: Logs, compactor: Compactor) -> None:
        log = logs.create(TP, TOPIC_ID)
        write_updates(log)
        task = asyncio.create_task(compactor.compact_due_logs())
        pid = await started(compactor)
        change(logs, log)
        expected = [] if change is delete_topic else records_of(log)
        assert not await task
        assert not is_running(pid)
        assert not cleaned_files(log)
        if change is not delete_topic:
            assert records_of(log) == expected
            assert log.log_dir.offline is None

    with_compactor(tmp_path, scenario, log_cleaner_io_max_bytes_per_second=SLOW_BYTES_PER_SECOND)


def test_stopping_ends_the_child_process(tmp_path: Path) -> None:
    async def scenario(logs: Logs, compactor: Compactor) -> None:
        log = logs.create(TP, TOPIC_ID)
        write_updates(log)
        task = asyncio.create_task(compactor.compact_due_logs())
        pid = await started(compactor)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not is_running(pid)
        assert not cleaned_files(log)
        assert len(records_of(log)) == 200

    with_compactor(tmp_path, scenario, log_cleaner_io_max_bytes_per_second=1.0)


def test_a_damaged_log_is_not_tried_again(tmp_path: Path) -> None:
    async def scenario(logs: Logs, compactor: Compactor) -> None:
        log = logs.create(TP, TOPIC_ID)
        write_updates(log)
        damage(log.segments[3].path)
        assert not await compactor.compact_due_logs()
        assert metrics.CLEANER_UNCLEANABLE.value == 1
        assert not await compactor.compact_due_logs()
        assert len(log.segments) == 11

    with_compactor(tmp_path, scenario)


def test_the_rate_of_reading_and_writing_is_limited(tmp_path: Path) -> None:
    async def scenario(logs: Logs, compactor: Compactor) -> None:
        log = logs.create(TP, TOPIC_ID)
        write_updates(log)
        size = log.size_bytes
        began = asyncio.get_running_loop().time()
        assert await compactor.compact_due_logs()
        assert asyncio.get_running_loop().time() - began >= 0.9 * 2 * size / 40_000

    with_compactor(tmp_path, scenario, log_cleaner_io_max_bytes_per_second=40_000.0)


def test_the_checkpoint_says_how_far_and_survives_a_restart(tmp_path: Path) -> None:
    async def scenario(logs: Logs, compactor: Compactor) -> None:
        write_updates(logs.create(TP, TOPIC_ID))
        await Duties(logs, lambda: NOW_MS).compact_logs()
        assert checkpoint.read(str(tmp_path), checkpoint.CLEANER_OFFSETS) == {TP: 200}

    with_compactor(tmp_path, scenario)
    assert (tmp_path / checkpoint.CLEANER_OFFSETS).read_text() == "0\n1\norders 0 200\n"
    logs = Logs(StorageConfig(log_dirs=(str(tmp_path),)), lambda topic: COMPACT, lambda: NOW_MS)
    logs.lock()
    logs.open()
    log = logs.get(TP)
    assert log is not None
    assert log.first_dirty_offset == 200
    log.truncate_to(150, NOW_MS)
    assert log.first_dirty_offset <= 150
    asyncio.run(logs.close(clean=False))


def test_a_cleaner_that_cannot_be_started_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(logs: Logs, compactor: Compactor) -> None:
        write_updates(logs.create(TP, TOPIC_ID))
        with monkeypatch.context() as short:
            short.setattr("sys.executable", str(tmp_path / "no-python"))
            assert not await compactor.compact_due_logs()
        assert await compactor.compact_due_logs()

    with_compactor(tmp_path, scenario)

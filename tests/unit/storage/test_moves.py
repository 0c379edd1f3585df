"""A log moves to another directory while it is in use: nothing is lost, whatever happens meanwhile."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ottla.base.errors import ApiError, DiskFull
from ottla.config.log import LogConfig
from ottla.storage import fs
from ottla.storage.log import Log
from ottla.storage.logs import Logs
from ottla.storage.moves import Moves
from tests.unit.storage.samples import NOW_MS, TOPIC_ID, TP, append, fill, make_batch, read_all
from tests.unit.storage.test_logs import make_logs, run

SEGMENTED = LogConfig(segment_bytes=16 * 1024, file_delete_delay_ms=0)


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture
def dirs(tmp_path: Path) -> tuple[Path, Path]:
    return tmp_path / "old", tmp_path / "new"


def opened(*dirs: Path, config: LogConfig = SEGMENTED) -> Logs:
    logs = make_logs(*dirs, config=config)
    logs.open({TP: TOPIC_ID})
    logs.start()
    return logs


def log_of(logs: Logs) -> Log:
    found = logs.get(TP)
    assert found is not None
    return found


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.001)


def places(*dirs: Path) -> list[str]:
    """What there is of the partition in each directory."""
    return [" ".join(sorted(each.name for each in d.glob(f"{TP}*"))) for d in dirs]


def is_in(logs: Logs, path: Path) -> bool:
    return log_of(logs).log_dir.path == str(path)


def test_a_log_moves_with_all_it_holds_while_it_is_appended_to(dirs: tuple[Path, Path]) -> None:
    async def scenario() -> None:
        logs = opened(*dirs)
        source = logs.create(TP, TOPIC_ID)
        source.epochs.assign(3, 0)
        fill(source, 200)
        append(source, make_batch(2, producer_id=7), leader_epoch=5)
        logs.moves.begin(TP, logs.dirs[1])
        assert [*logs.describe()[1].futures] == [TP]
        while is_in(logs, dirs[0]):
            append(log_of(logs), make_batch(3), leader_epoch=5)
            await asyncio.sleep(0)
        moved = log_of(logs)
        assert append(moved, make_batch(2, producer_id=7)).duplicate
        assert append(moved, make_batch(1)).base_offset == source.end_offset
        assert moved.epochs.entries() == source.epochs.entries()
        assert [h.base_offset for h in read_all(moved)][:3] == [0, 10, 20]
        await until(lambda: places(*dirs) == ["", str(TP)])
        await logs.close()
        assert log_of(opened(*dirs)).end_offset == moved.end_offset

    run(scenario)


def test_where_records_were_deleted_and_cut_the_copy_follows(dirs: tuple[Path, Path]) -> None:
    async def scenario() -> None:
        logs = opened(*dirs)
        source = logs.create(TP, TOPIC_ID)
        fill(source, 100)
        source.advance_start_offset(15)  # inside of a batch
        logs.moves.begin(TP, logs.dirs[1])
        await asyncio.sleep(0)
        source.truncate_to(500, NOW_MS)
        append(source, make_batch(5), leader_epoch=9)
        source.advance_start_offset(30)
        await until(lambda: is_in(logs, dirs[1]))
        moved = log_of(logs)
        assert (moved.start_offset, moved.end_offset) == (30, 505)
        assert read_all(moved)[-1].leader_epoch == 9
        await logs.close()

    run(scenario)


def test_a_move_is_given_up_with_its_log_or_for_another_one(dirs: tuple[Path, Path]) -> None:
    async def scenario() -> None:
        logs = opened(*dirs)
        fill(logs.create(TP, TOPIC_ID), 100)
        logs.moves.begin(TP, logs.dirs[1])
        logs.moves.begin(TP, logs.dirs[1])
        assert places(*dirs)[1].count("future") == 1
        logs.moves.begin(TP, logs.dirs[0])
        assert logs.describe()[1].futures == {}
        await until(lambda: places(*dirs) == [str(TP), ""])
        logs.moves.begin(TP, logs.dirs[1])
        logs.delete(TP)
        await until(lambda: places(*dirs) == ["", ""])
        with pytest.raises(ApiError):
            logs.moves.begin(TP, logs.dirs[1])
        await logs.close()

    run(scenario)


def test_a_move_is_no_faster_than_it_may_be(dirs: tuple[Path, Path]) -> None:
    async def scenario() -> None:
        logs = opened(*dirs)
        fill(logs.create(TP, TOPIC_ID), 100)
        slow = {"replica_alter_log_dirs_io_max_bytes_per_second": 1}
        usual, logs.config = logs.config, replace(logs.config, **slow)
        logs.moves.begin(TP, logs.dirs[1])
        await until(lambda: logs.describe()[1].futures[TP].size_bytes > 0)
        future = logs.describe()[1].futures[TP]
        assert (future.offset_lag, is_in(logs, dirs[0])) == (990, True)
        logs.config = usual
        await until(lambda: is_in(logs, dirs[1]))
        await logs.close()

    run(scenario)


def test_a_full_disk_ends_a_move_and_nothing_else(
    dirs: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        logs = opened(*dirs)
        source = logs.create(TP, TOPIC_ID)
        fill(source, 10)

        def refuse(self: Log, batches: object, now_ms: int) -> int:
            raise DiskFull("no space left")

        monkeypatch.setattr(Log, "append_replicated", refuse)
        logs.moves.begin(TP, logs.dirs[1])
        await until(lambda: places(*dirs) == [str(TP), ""])
        assert append(source, make_batch(1)).base_offset == 100
        await logs.close()

    run(scenario)


def kill_in_swap(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """The process ends before the nth thing that the next swap does to a disk."""
    left = [step]
    swap = Moves._swap

    def dying(act: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **options: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                raise Killed
            return act(*args, **options)

        return wrapped

    def armed(self: Moves, move: Any) -> None:
        monkeypatch.setattr(Moves, "_swap", swap)
        with monkeypatch.context() as patched:
            for name in ("rename", "sync_path", "write_atomic"):
                patched.setattr(fs, name, dying(getattr(fs, name)))
            swap(self, move)

    monkeypatch.setattr(Moves, "_swap", armed)


async def move_and_die(dirs: tuple[Path, Path]) -> bool:
    """Whether the process ended in the middle of a move."""
    logs = opened(*dirs)
    fill(logs.create(TP, TOPIC_ID), 50)
    logs.moves.begin(TP, logs.dirs[1])
    task = logs.moves._moves[TP].task
    assert task is not None
    [died] = await asyncio.gather(task, return_exceptions=True)
    await logs.close(clean=False)
    return isinstance(died, Killed)


async def start_again_and_check(dirs: tuple[Path, Path]) -> None:
    logs = opened(*dirs)
    assert log_of(logs).end_offset == 500
    assert len(read_all(log_of(logs))) == 50
    append(log_of(logs), make_batch(1))
    await until(lambda: is_in(logs, dirs[1]))
    assert log_of(logs).end_offset == 501
    await until(lambda: places(*dirs) == ["", str(TP)])
    await logs.close()


def test_a_crash_at_any_moment_of_the_swap_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deaths: list[bool] = []
    while all(deaths):
        dirs = tmp_path / f"old-{len(deaths)}", tmp_path / f"new-{len(deaths)}"
        kill_in_swap(monkeypatch, len(deaths))

        async def scenario(dirs: tuple[Path, Path] = dirs) -> None:
            deaths.append(await move_and_die(dirs))
            if deaths[-1]:
                await start_again_and_check(dirs)

        run(scenario)
    assert len(deaths) > 10


def test_a_move_that_a_stop_interrupts_goes_on_with_the_next_start(
    dirs: tuple[Path, Path],
) -> None:
    async def scenario() -> None:
        logs = opened(*dirs)
        fill(logs.create(TP, TOPIC_ID), 100)
        logs.moves.begin(TP, logs.dirs[1])
        await logs.close()
        assert places(*dirs)[0] == str(TP)
        again = opened(*dirs)
        await until(lambda: is_in(again, dirs[1]))
        assert len(read_all(log_of(again))) == 100
        await until(lambda: places(*dirs) == ["", str(TP)])
        await again.close()

    run(scenario)

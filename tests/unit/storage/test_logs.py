"""All logs of a broker: start, stop, placement, deletion, failing directories."""

import asyncio
import os
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from ottla.base.errors import LogDirOffline, StorageError
from ottla.base.ids import TopicPartition
from ottla.config.log import LogConfig
from ottla.config.storage import StorageConfig
from ottla.storage.log_dir import LogDir
from ottla.storage.logs import Logs
from tests.unit.storage.samples import NOW_MS, TOPIC_ID, TP, append, fill, make_batch, read_all

OTHER = TopicPartition("other-topic", 3)


def make_logs(
    *paths: Path, config: LogConfig | None = None, now_ms: int = NOW_MS, **storage: Any
) -> Logs:
    logs = Logs(
        StorageConfig(log_dirs=tuple(str(path) for path in paths), **storage),
        lambda topic: config or LogConfig(),
        lambda: now_ms,
    )
    logs.lock()
    logs.identify("cluster", 1, "embedded")
    return logs


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(scenario(), 30)

    asyncio.run(bounded())


def test_logs_survive_a_clean_restart(tmp_path: Path) -> None:
    async def scenario() -> None:
        logs = make_logs(tmp_path)
        logs.open({})
        log = logs.create(TP, TOPIC_ID)
        fill(log, 5)
        log.high_watermark = 40
        log.advance_start_offset(12)
        await logs.close(broker_epoch=17)
        again = make_logs(tmp_path)
        again.open({TP: TOPIC_ID})
        opened = again.get(TP)
        assert opened is not None
        assert (opened.start_offset, opened.high_watermark, opened.end_offset) == (12, 40, 50)
        assert opened.topic_id == TOPIC_ID
        assert again.previous_broker_epoch == 17
        assert not (tmp_path / ".kafka_cleanshutdown").exists()
        await again.close(clean=False)

    run(scenario)


def test_a_crash_leaves_no_marker_and_loses_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        logs = make_logs(tmp_path)
        logs.open({})
        fill(logs.create(TP, TOPIC_ID), 5)
        await logs.close(clean=False)
        again = make_logs(tmp_path)
        again.open({TP: TOPIC_ID})
        opened = again.get(TP)
        assert opened is not None
        assert len(read_all(opened)) == 5
        assert opened.synced_offset == 0
        assert again.previous_broker_epoch == -1
        await again.close(clean=False)

    run(scenario)


def test_new_partitions_go_where_the_fewest_are(tmp_path: Path) -> None:
    async def scenario() -> None:
        logs = make_logs(tmp_path / "a", tmp_path / "b", tmp_path / "c")
        logs.open({})
        for partition in range(7):
            logs.create(TopicPartition("t", partition), TOPIC_ID)
        counts = [len(described.sizes) for described in logs.describe()]
        assert sorted(counts) == [2, 2, 3]
        await logs.close()

    run(scenario)


def test_partitions_nobody_knows_are_set_aside(tmp_path: Path) -> None:
    async def scenario() -> None:
        logs = make_logs(tmp_path)
        logs.open({})
        for tp in (TP, OTHER, TopicPartition("__consumer_offsets", 0)):
            logs.create(tp, TOPIC_ID)
        await logs.close()
        again = make_logs(tmp_path)
        again.open({TP: TOPIC_ID, OTHER: uuid.uuid4()})
        assert len(again) == 1
        stray = [name for name in os.listdir(tmp_path) if name.endswith("-stray")]
        assert sorted(name.split(".")[0] for name in stray) == ["__consumer_offsets-0", str(OTHER)]
        await again.close()

    run(scenario)


def stray_directories(parent: Path) -> list[str]:
    return [name for name in os.listdir(parent) if name.endswith("-stray")]


def test_what_was_set_aside_is_deleted_after_its_time_and_not_before(tmp_path: Path) -> None:
    retention_ms, delay_ms = 1000, 10

    async def start(now_ms: int, *, keep: bool = False) -> Logs:
        logs = make_logs(
            tmp_path,
            config=LogConfig(file_delete_delay_ms=delay_ms),
            now_ms=now_ms,
            stray_retention_ms=-1 if keep else retention_ms,
        )
        logs.open({})
        logs.start()
        return logs

    async def scenario() -> None:
        logs = make_logs(tmp_path)
        logs.create(TP, TOPIC_ID)
        await logs.close()
        for now_ms, keep in ((NOW_MS, False), (NOW_MS + 500, False), (NOW_MS + 10_000, True)):
            logs = await start(now_ms, keep=keep)
            await asyncio.sleep(0)
            assert (len(stray_directories(tmp_path)), logs.count_strays()) == (1, 1)
            await logs.close()
        logs = await start(NOW_MS + retention_ms + delay_ms)
        while stray_directories(tmp_path):
            await asyncio.sleep(0.001)
        assert logs.count_strays() == 0
        await logs.close()

    run(scenario)


def test_a_deleted_partition_is_renamed_at_once_and_removed_later(tmp_path: Path) -> None:
    async def scenario() -> None:
        logs = make_logs(tmp_path, config=LogConfig(file_delete_delay_ms=1))
        logs.open({})
        log = logs.create(TP, TOPIC_ID)
        fill(log, 3)
        logs.delete(TP)
        assert logs.get(TP) is None
        assert not (tmp_path / str(TP)).exists()
        fresh = logs.create(TP, uuid.uuid4())
        assert fresh.end_offset == 0
        with pytest.raises(LogDirOffline, match="closed"):
            append(log, make_batch())
        while any(name.endswith("-delete") for name in os.listdir(tmp_path)):
            await asyncio.sleep(0.001)
        await logs.close()

    run(scenario)


def test_what_was_to_be_deleted_before_a_stop_goes_after_the_start(tmp_path: Path) -> None:
    async def scenario() -> None:
        (tmp_path / f"orders-0.{uuid.uuid4().hex}-delete").mkdir()
        logs = make_logs(tmp_path)
        logs.open({})
        logs.start()
        while any(name.endswith("-delete") for name in os.listdir(tmp_path)):
            await asyncio.sleep(0.001)
        await logs.close()

    run(scenario)


def test_the_longest_topic_name_can_be_deleted(tmp_path: Path) -> None:
    async def scenario() -> None:
        logs = make_logs(tmp_path)
        logs.open({})
        tp = TopicPartition("t" * 249, 12345)
        logs.create(tp, TOPIC_ID)
        logs.delete(tp)
        assert all(len(name) <= 255 for name in os.listdir(tmp_path))
        await logs.close()

    run(scenario)


def test_a_failing_directory_takes_only_its_own_partitions(tmp_path: Path) -> None:
    async def scenario() -> None:
        logs = make_logs(tmp_path / "a", tmp_path / "b")
        logs.open({})
        lost: list[tuple[LogDir, list[TopicPartition]]] = []
        logs.on_offline = lambda log_dir, partitions: lost.append((log_dir, partitions))
        first, second = logs.create(TP, TOPIC_ID), logs.create(OTHER, TOPIC_ID)
        first.log_dir.fail(LogDirOffline("Input/output error"))
        assert lost == [(logs.dirs[0], [TP])]
        assert logs.get(TP) is None
        append(second, make_batch())
        assert [described.offline for described in logs.describe()] == [True, False]
        assert logs.create(TopicPartition("new", 0), TOPIC_ID).log_dir is second.log_dir
        await logs.close()
        assert not (tmp_path / "a" / ".kafka_cleanshutdown").exists()
        assert (tmp_path / "b" / ".kafka_cleanshutdown").exists()

    run(scenario)


def test_without_any_usable_directory_there_is_no_start(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="no usable log directory"):
        make_logs(tmp_path / "file" / "below")


def test_settings_of_a_topic_reach_its_logs(tmp_path: Path) -> None:
    async def scenario() -> None:
        logs = make_logs(tmp_path)
        logs.open({})
        log, other = logs.create(TP, TOPIC_ID), logs.create(OTHER, TOPIC_ID)
        logs.configure(TP.topic, LogConfig(segment_bytes=1_000_000))
        assert log.config.segment_bytes == 1_000_000
        assert other.config == LogConfig()
        await logs.close()

    run(scenario)


def test_directories_are_described(tmp_path: Path) -> None:
    async def scenario() -> None:
        logs = make_logs(tmp_path)
        logs.open({})
        fill(logs.create(TP, TOPIC_ID), 3)
        (described,) = logs.describe()
        assert described.total_bytes >= described.usable_bytes > 0
        assert described.sizes == {TP: (tmp_path / str(TP) / f"{0:020d}.log").stat().st_size}
        await logs.close()

    run(scenario)

"""The background work of storage: flushes, checkpoints, retention, compaction, delayed removal.

Each duty is one asyncio task. Decisions are made on the loop, a slice of the logs at a time;
waiting for the disk happens in the executor. A duty that meets a storage error says so and goes on:
what failed for good has already taken its directory offline.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from ottla.base.errors import LogDirOffline, StorageError
from ottla.base.ids import TopicPartition
from ottla.base.log import logger
from ottla.base.units import MINUTE_MS, MiB
from ottla.storage import checkpoint, fs
from ottla.storage.compactor import Compactor

if TYPE_CHECKING:
    from ottla.storage.log import Log
    from ottla.storage.log_dir import LogDir
    from ottla.storage.logs import Logs
    from ottla.storage.segment import Segment

log = logger(__name__)

FLUSH_CHECK_INTERVAL_MS = 1_000
FLUSH_BYTES = 64 * MiB
IDLE_FLUSH_BYTES = MiB
IDLE_FLUSH_MS = MINUTE_MS
MIN_BACKOFF_MS = 10
_SLICE = 100


class Duties:
    """The tasks that look after all logs."""

    def __init__(self, logs: "Logs", clock: Callable[[], int]) -> None:
        self._logs = logs
        self._clock = clock
        self._tasks: list[asyncio.Task[None]] = []
        self._removals: set[asyncio.Task[None]] = set()
        self._written: dict[tuple[str, str], bytes] = {}
        self._compactor = Compactor(logs, clock, self._unlink_later)

    def start(self) -> None:
        """Begin every duty on the running loop."""
        config = self._logs.config
        delay_ms = config.log_initial_task_delay_ms
        for interval_ms, duty in (
            (FLUSH_CHECK_INTERVAL_MS, self.flush_due_logs),
            (config.log_flush_offset_checkpoint_interval_ms, self.write_recovery_points),
            (config.log_flush_start_offset_checkpoint_interval_ms, self.write_start_offsets),
            (config.replica_high_watermark_checkpoint_interval_ms, self.write_high_watermarks),
            (config.log_retention_check_interval_ms, self.apply_retention),
            (config.producer_id_expiration_check_interval_ms, self.expire_producers),
            (max(config.log_cleaner_backoff_ms, MIN_BACKOFF_MS), self.compact_logs),
        ):
            first_ms = min(interval_ms, delay_ms)
            self._tasks.append(asyncio.create_task(self._repeat(first_ms, interval_ms, duty)))

    async def stop(self) -> None:
        """End every duty; what waits to be removed is removed at the next start."""
        tasks = [*self._tasks, *self._removals]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._tasks.clear()

    async def flush_due_logs(self) -> None:
        """Checkpoint the logs whose unflushed part has grown large or old."""
        now_ms = self._clock()
        async for each in self._in_slices():
            if self._flush_is_due(each, now_ms):
                each.last_flush_ms = now_ms
                try:
                    await self._logs.flusher.flush(each, checkpoint=True)
                except StorageError as error:
                    log.warning("flush failed", partition=each.tp, error=str(error))

    async def apply_retention(self) -> None:
        """Delete expired segments and give idle descriptors back."""
        async for each in self._in_slices():
            try:
                await self._learn_timestamps(each)
                if self._logs.get(each.tp) is not each:
                    continue  # it went while the disk was waited for
                now_ms = self._clock()
                paths = each.delete_expired(now_ms, each.high_watermark)
            except LogDirOffline as error:
                each.log_dir.fail(error)
                continue
            except StorageError as error:
                log.warning("retention failed", partition=each.tp, error=str(error))
                continue
            if paths:
                self._unlink_later(each.config.file_delete_delay_ms, paths)
            each.collect_garbage()

    async def _learn_timestamps(self, source: "Log") -> None:
        """Have a thread read what a start leaves unread: the largest timestamps of sealed segments."""
        unknown = [segment for segment in source.segments[:-1] if segment.max_timestamp < 0]
        if unknown:
            found = await asyncio.get_running_loop().run_in_executor(
                self._logs.executor, _largest_timestamps, unknown
            )
            for segment, largest in zip(unknown, found, strict=True):
                segment.learn_largest_timestamp(*largest)

    async def compact_logs(self) -> None:
        """Compact every log that is due, and write down how far."""
        if self._logs.config.log_cleaner_enable and await self._compactor.compact_due_logs():
            await self.write_cleaner_offsets()

    async def expire_producers(self) -> None:
        """Forget the producers that have been silent for too long."""
        expiration_ms = self._logs.config.producer_id_expiration_ms
        async for each in self._in_slices():
            each.producers.expire(self._clock(), expiration_ms)

    async def write_recovery_points(self) -> None:
        """Write how far each log needs no scan after a crash."""
        await self._write(checkpoint.RECOVERY_POINTS, lambda each: each.recovery_point)

    async def write_start_offsets(self) -> None:
        """Write where logs begin, if that is inside of their first segment."""
        await self._write(
            checkpoint.START_OFFSETS,
            lambda each: each.start_offset,
            lambda each: each.start_offset > each.segments[0].base_offset,
        )

    async def write_high_watermarks(self) -> None:
        """Write the high watermarks."""
        await self._write(checkpoint.HIGH_WATERMARKS, lambda each: each.high_watermark)

    async def write_cleaner_offsets(self) -> None:
        """Write up to where each log has been compacted."""
        await self._write(
            checkpoint.CLEANER_OFFSETS,
            lambda each: each.first_dirty_offset,
            lambda each: each.first_dirty_offset > 0,
        )

    async def write_checkpoints(self) -> None:
        """Write every checkpoint file that has changed."""
        await self.write_recovery_points()
        await self.write_start_offsets()
        await self.write_high_watermarks()
        await self.write_cleaner_offsets()

    def remove_tree_later(self, path: str, delay_ms: int) -> None:
        """Remove a directory that has been set aside, after a delay."""
        self._later(delay_ms, fs.remove_tree, path)

    async def _repeat(
        self, first_ms: int, interval_ms: int, duty: Callable[[], Awaitable[None]]
    ) -> None:
        await asyncio.sleep(first_ms / 1000)
        while True:
            try:
                await duty()
            except StorageError as error:
                log.error("storage duty failed", duty=duty.__name__, error=str(error))
            except Exception:
                # A flaw; but a duty that ended without a word would be missed only when the disk is full.
                log.exception("storage duty failed", duty=duty.__name__)
            await asyncio.sleep(interval_ms / 1000)

    async def _in_slices(self) -> AsyncIterator["Log"]:
        for number, each in enumerate(self._logs):
            if number % _SLICE == _SLICE - 1:
                await asyncio.sleep(0)
            if each.log_dir.offline is None:
                yield each

    def _flush_is_due(self, each: "Log", now_ms: int) -> bool:
        if each.recovery_point >= each.end_offset:
            return False
        unflushed = each.unflushed_bytes
        waited_ms = now_ms - each.last_flush_ms
        return (
            unflushed >= FLUSH_BYTES
            or (unflushed >= IDLE_FLUSH_BYTES and waited_ms >= IDLE_FLUSH_MS)
            or waited_ms >= each.config.flush_ms
        )

    async def _write(
        self,
        name: str,
        offset_of: "Callable[[Log], int]",
        wanted: "Callable[[Log], bool]" = lambda each: True,
    ) -> None:
        for log_dir in self._logs.dirs:
            if log_dir.offline is None:
                here = [each for each in self._logs if each.log_dir is log_dir and wanted(each)]
                await self._write_one(log_dir, name, {each.tp: offset_of(each) for each in here})

    async def _write_one(
        self, log_dir: "LogDir", name: str, offsets: dict[TopicPartition, int]
    ) -> None:
        content = checkpoint.encode(offsets)
        key = log_dir.path, name
        if self._written.get(key) == content:
            return
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(
                self._logs.executor, fs.write_atomic, f"{log_dir.path}/{name}", content
            )
        except LogDirOffline as error:
            log_dir.fail(error)
            return
        self._written[key] = content

    def _unlink_later(self, delay_ms: int, paths: list[str]) -> None:
        self._later(delay_ms, fs.unlink, paths)

    def _later(
        self, delay_ms: int, remove: Callable[..., None], target: str | Sequence[str]
    ) -> None:
        async def wait_and_remove() -> None:
            await asyncio.sleep(delay_ms / 1000)
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self._logs.executor, remove, target)

        task = asyncio.create_task(wait_and_remove())
        self._removals.add(task)
        task.add_done_callback(self._removals.discard)


def _largest_timestamps(segments: "list[Segment]") -> list[tuple[int, int]]:
    return [segment.read_largest_timestamp() for segment in segments]

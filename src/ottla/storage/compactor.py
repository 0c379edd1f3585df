"""The broker's side of log compaction: picks logs, has the cleaner process work, swaps files in.

The filthiest log comes first. Whatever happens to its log meanwhile (truncation, retention, another
cleanup.policy, deletion) voids the cleaner's work: it is told to stop and its files are removed.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from ottla.base.errors import CorruptLog, LogDirOffline, StorageError
from ottla.base.ids import TopicPartition
from ottla.base.log import logger
from ottla.base.units import LONG_MAX, MiB
from ottla.config.storage import StorageConfig
from ottla.storage import fs, metrics
from ottla.storage.cleaned_segment import CLEANED_SUFFIX
from ottla.storage.cleaner_job import (
    Cleaned,
    Event,
    Failed,
    Job,
    Progress,
    Replacement,
    decode_event,
    encode_job,
)
from ottla.storage.compaction import Cleaning, SealedSegment, cleaning_of, first_dirty_offset

if TYPE_CHECKING:
    from ottla.storage.log import Log
    from ottla.storage.logs import Logs
    from ottla.storage.segment import Segment

log = logger(__name__)

_MAX_LINE_BYTES = 16 * MiB
_SLICE = 100


class CleanerDied(StorageError):
    """The cleaner process ended in the middle of a job."""


class _Picked(NamedTuple):
    """A log to compact, and the state of it that the cleaner's work is about."""

    log: "Log"
    cleaning: Cleaning
    generation: int
    directory: str


class Compactor:
    """Compacts the logs of a broker, one at a time."""

    def __init__(
        self, logs: "Logs", clock: Callable[[], int], unlink_later: Callable[[int, list[str]], None]
    ) -> None:
        self._logs = logs
        self._clock = clock
        self._unlink_later = unlink_later
        self._process: asyncio.subprocess.Process | None = None
        self._uncleanable: set[TopicPartition] = set()

    async def compact_due_logs(self) -> bool:
        """Compact until no log is due; True when at least one log was."""
        any_cleaned = False
        try:
            while picked := await self._pick():
                if not await self._compact(picked):
                    break
                any_cleaned = True
        finally:
            await self._end_process()
        return any_cleaned

    async def _pick(self) -> _Picked | None:
        """The log with the highest dirty ratio among those that are due."""
        best: _Picked | None = None
        max_ratio = 0.0
        for number, each in enumerate(self._logs):
            if number % _SLICE == _SLICE - 1:
                await asyncio.sleep(0)
            if not self._may_compact(each):
                continue
            cleaning = cleaning_for(each, self._clock())
            max_ratio = max(max_ratio, cleaning.dirty_ratio)
            if cleaning.is_due(each.config) and (
                best is None or cleaning.dirty_ratio > best.cleaning.dirty_ratio
            ):
                best = _Picked(each, cleaning, each.generation, each.directory)
        metrics.CLEANER_MAX_DIRTY_RATIO.value = max_ratio
        return best if best is not None and self._still_holds(best) else None

    async def _compact(self, picked: _Picked) -> bool:
        """Have one log compacted; False when that came to nothing."""
        started = monotonic()
        partition = picked.log.tp
        done = False
        try:
            done = await self._run_job(picked)
        except (CorruptLog, CleanerDied) as error:
            self._uncleanable.add(partition)
            metrics.CLEANER_FAILURES.value += 1
            metrics.CLEANER_UNCLEANABLE.value = len(self._uncleanable)
            log.error("log is not compacted any more", partition=partition, error=str(error))
        except StorageError as error:
            metrics.CLEANER_FAILURES.value += 1
            # Perhaps retention has just deleted what the cleaner was to read. A disk that really
            # fails is taken out of use by whoever appends or reads next.
            log.warning("compaction failed", partition=partition, error=str(error))
        finally:
            metrics.CLEANER_SECONDS.value += monotonic() - started
            if not done:
                await self._end_process()
                await self._in_thread(_remove_cleaned, picked.directory)
        if done:
            metrics.CLEANER_RUNS.value += 1
            log.info(
                "log compacted",
                partition=partition,
                first_dirty_offset=picked.log.first_dirty_offset,
                size_bytes=picked.log.size_bytes,
                milliseconds=int((monotonic() - started) * 1000),
            )
        return done

    async def _run_job(self, picked: _Picked) -> bool:
        """Follow one job to its end; False when the log has changed under it."""
        process = self._process or await self._start_process()
        assert process.stdin is not None
        job = job_for(picked.log, picked.cleaning, self._logs.config, self._clock())
        process.stdin.write(encode_job(job))
        while True:
            event = await self._next_event(process)
            if not self._still_holds(picked):
                return False
            match event:
                case Progress():
                    metrics.CLEANER_READ_BYTES.value += event.bytes_read
                    metrics.CLEANER_WRITTEN_BYTES.value += event.bytes_written
                case Replacement():
                    if not await self._replace(picked, event):
                        return False
                case Cleaned():
                    picked.log.first_dirty_offset = event.end_offset
                    return True
                case Failed():
                    raise _error_of(event)

    async def _replace(self, picked: _Picked, event: Replacement) -> bool:
        """Swap a new segment in; False when one of the old ones is not there any more."""
        source = picked.log
        old = [each for each in source.segments[:-1] if each.base_offset in event.old]
        for segment in old:
            segment.touched = True
        # A cold read of an old segment must never load the index of the new one.
        await self._in_thread(_load_indexes, old)
        await self._in_thread(source.gaps.allow_below, picked.cleaning.upper_offset)
        known = source.segments[:-1]
        if len(old) != len(event.old) or not all(each in known for each in old):
            return False
        if not self._still_holds(picked):
            return False
        try:
            paths = source.replace_segments(old, [event.new], self._clock())
        except LogDirOffline as error:
            source.log_dir.fail(error)
            raise
        await self._in_thread(fs.sync_path, picked.directory)
        self._unlink_later(source.config.file_delete_delay_ms, paths)
        return True

    def _may_compact(self, each: "Log") -> bool:
        return (
            "compact" in each.config.cleanup_policy
            and each.log_dir.offline is None
            and each.tp not in self._uncleanable
        )

    def _still_holds(self, picked: _Picked) -> bool:
        source = picked.log
        return (
            self._logs.get(source.tp) is source
            and source.generation == picked.generation
            and self._may_compact(source)
        )

    async def _start_process(self) -> asyncio.subprocess.Process:
        try:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",
                "-m",
                "ottla.storage.cleaner_process",
                str(os.getpid()),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=_MAX_LINE_BYTES,
            )
        except OSError as error:
            # The machine is short of processes or memory: it is tried again with the next look at the logs.
            raise StorageError(f"the cleaner process cannot be started: {error}") from error
        return self._process

    async def _next_event(self, process: asyncio.subprocess.Process) -> Event:
        assert process.stdout is not None
        line = await process.stdout.readline()
        if not line:
            raise CleanerDied(
                f"the cleaner process ended with {await process.wait()}; restart to try again"
            )
        return decode_event(line)

    async def _end_process(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
        await process.wait()

    async def _in_thread(self, work: Callable[..., None], *args: object) -> None:
        await asyncio.get_running_loop().run_in_executor(self._logs.executor, work, *args)


def cleaning_for(source: "Log", now_ms: int) -> Cleaning:
    """What there is to compact in a log."""
    config = source.config
    first_dirty = first_dirty_offset(
        source.first_dirty_offset, source.start_offset, source.end_offset
    )
    unstable = source.first_unstable_offset()
    stable = source.high_watermark if unstable is None else min(source.high_watermark, unstable)
    wants_youngest = config.min_compaction_lag_ms > 0
    wants_oldest = config.max_compaction_lag_ms < LONG_MAX

    def facts() -> Iterator[SealedSegment]:
        for segment, end_offset in _sealed(source):
            dirty = end_offset > first_dirty
            # Ages may have to be read from the disk, so only where they matter.
            youngest = now_ms - segment.largest_timestamp() if dirty and wants_youngest else 0
            oldest = segment.waited_ms(now_ms, now_ms) if dirty and wants_oldest else 0
            yield SealedSegment(
                segment.base_offset, end_offset, segment.size_bytes, youngest, oldest
            )

    return cleaning_of(facts(), first_dirty, stable, config)


def job_for(source: "Log", cleaning: Cleaning, storage: StorageConfig, now_ms: int) -> Job:
    """All that the cleaner needs to know to compact a log."""
    config = source.config
    upper = cleaning.upper_offset
    sealed = [(segment, end) for segment, end in _sealed(source) if end <= upper]
    later = [
        txn
        for segment in source.segments[len(sealed) :]
        for txn in segment.txn_index.all()
        if txn.first_offset < upper
    ]
    return Job(
        directory=source.directory,
        segments=[(segment.base_offset, end, segment.size_bytes) for segment, end in sealed],
        first_dirty_offset=cleaning.first_dirty_offset,
        now_ms=now_ms,
        delete_retention_ms=config.delete_retention_ms,
        segment_bytes=config.segment_bytes,
        segment_index_bytes=config.segment_index_bytes,
        index_interval_bytes=config.index_interval_bytes,
        memory_bytes=storage.log_cleaner_dedupe_buffer_size,
        io_bytes_per_second=storage.log_cleaner_io_max_bytes_per_second,
        later_aborted=later,
        producers=source.producers.encode_snapshot(),
    )


def _sealed(source: "Log") -> "list[tuple[Segment, int]]":
    """Each sealed segment with the offset at which it ends."""
    return [(each, after.base_offset) for each, after in pairwise(source.segments)]


def _load_indexes(segments: "list[Segment]") -> None:
    for segment in segments:
        segment.offset_index.load(wait=True)


def _remove_cleaned(directory: str) -> None:
    if fs.exists(directory):
        names = [name for name in fs.list_files(directory) if name.endswith(CLEANED_SUFFIX)]
        fs.unlink(f"{directory}/{name}" for name in names)


def _error_of(failed: Failed) -> StorageError:
    kind = CorruptLog if failed.error == CorruptLog.__name__ else StorageError
    return kind(failed.text)

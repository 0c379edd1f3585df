"""Moves logs from one directory of this broker to another while they are in use (KIP-113).

A copy, the future log, grows in `<topic>-<partition>.<random>-future` of the other directory, from batches read as a
follower reads them. Once it has caught up, all in one turn of the loop, the rest is copied, the copy is synced and
closed, and three renames follow:

    1. -future becomes -moved: from here on the copy counts
    2. the directory that it is a copy of becomes -delete
    3. -moved loses its suffix, and is opened as the log of the partition

A crash before the first leaves a copy that is thrown away, and the move begins anew with the next start; after it, the
next start does the renames that are left.
"""

import asyncio
import re
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from ottla.base.errors import ApiError, CorruptLog, LogDirOffline, StorageError
from ottla.base.ids import TopicPartition
from ottla.base.log import logger
from ottla.base.units import MiB
from ottla.protocol.errors import ErrorCode
from ottla.protocol.records.batch import Buffer, parse_header
from ottla.storage import fs
from ottla.storage.log import Log
from ottla.storage.log_dir import LogDir
from ottla.storage.partition_metadata import write_topic_id
from ottla.storage.recovery import EPOCHS_FILE
from ottla.storage.snapshots import Snapshots

if TYPE_CHECKING:
    from ottla.storage.logs import Logs

log = logger(__name__)

FUTURE: Final = "-future"
_MOVED: Final = "-moved"
_MOVING = re.compile(r"(?P<topic>.+)-(?P<partition>\d+)\.[0-9a-f]{32}(?P<state>-future|-moved)")
_LONGEST_NAME: Final = 255
_STEP_BYTES: Final = MiB
# What is copied at once at the end, while nobody else has a turn: a millisecond's worth.
_LAST_BYTES: Final = 2 * MiB
# How often the limit of the pace is looked at.
_LOOK_S: Final = 0.1


class FutureReplica(NamedTuple):
    """What DescribeLogDirs tells about a copy in the making."""

    size_bytes: int
    offset_lag: int


class _Gone(Exception):
    """The log that is copied is not the partition's any more."""


class _Move:
    """One log on its way."""

    __slots__ = ("copy", "generation", "path", "source", "target", "task")

    def __init__(self, source: Log, target: LogDir, path: str, copy: Log) -> None:
        self.source = source
        self.target = target
        self.path = path
        self.copy = copy
        self.generation = source.generation
        self.task: asyncio.Task[None] | None = None


class Moves:
    """The moves under way in one broker."""

    def __init__(
        self, logs: "Logs", clock: Callable[[], int], remove_later: Callable[[str, int], None]
    ) -> None:
        self._logs = logs
        self._clock = clock
        self._remove_later = remove_later
        self._moves: dict[TopicPartition, _Move] = {}

    def begin(self, tp: TopicPartition, target: LogDir) -> None:
        """Begin to move a log, unless it is there or on its way there; any other move of it ends."""
        source = self._logs.get(tp)
        if source is None:
            raise ApiError(ErrorCode.REPLICA_NOT_AVAILABLE, f"{tp} is not here")
        running = self._moves.get(tp)
        if running is not None and running.target is target:
            return
        self.end(tp)
        if source.log_dir is target:
            return
        name = f"{tp}.{uuid.uuid4().hex}{FUTURE}"
        if len(name) > _LONGEST_NAME:
            raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{tp}: its name is too long to move")
        path = f"{target.path}/{name}"
        move = self._moves[tp] = _Move(source, target, path, self._new_copy(source, target, path))
        move.task = asyncio.create_task(self._run(move))
        log.info("log moves", partition=tp, to=target.path)

    def end(self, tp: TopicPartition) -> None:
        """Give up the move of a log, if there is one."""
        move = self._moves.pop(tp, None)
        if move is not None and move.task is not None:
            move.task.cancel()
            self._discard(move)

    async def stop(self) -> None:
        """Leave everything as it lies: the next start begins it anew."""
        moves, self._moves = list(self._moves.values()), {}
        tasks = [move.task for move in moves if move.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for move in moves:
            move.copy.close(clean=False)

    def in_directory(self, log_dir: LogDir) -> dict[TopicPartition, FutureReplica]:
        """The copies that grow in a directory."""
        return {
            tp: FutureReplica(
                move.copy.size_bytes, max(move.source.end_offset - move.copy.end_offset, 0)
            )
            for tp, move in self._moves.items()
            if move.target is log_dir
        }

    def _new_copy(self, source: Log, target: LogDir, path: str) -> Log:
        copy = Log.open(
            path,
            source.tp,
            source.config,
            topic_id=source.topic_id,
            clean_shutdown=True,
            log_start_offset=source.start_offset,
            now_ms=self._clock(),
            log_dir=target,
        )
        write_topic_id(path, source.topic_id)
        return copy

    async def _run(self, move: _Move) -> None:
        tp = move.source.tp
        try:
            while True:
                await self._catch_up(move)
                await self._logs.flusher.flush(move.copy, checkpoint=True)
                if self._finish(move):
                    break
        except _Gone:
            log.info("move given up, the log is gone", partition=tp)
        except (StorageError, ApiError) as failure:
            log.error("log not moved", partition=tp, to=move.path, reason=str(failure))
        else:
            del self._moves[tp]
            return
        del self._moves[tp]
        self._discard(move)

    async def _catch_up(self, move: _Move) -> None:
        """Copy, no faster than is allowed, until there is a moment at which nothing is left."""
        while self._is_behind(move):
            data = await self._next(move, min(_STEP_BYTES, self._bytes_per_second))
            self._append(move, data)
            if self._is_behind(move):
                await self._pace(len(data))

    def _is_behind(self, move: _Move) -> bool:
        self._heed_changes(move)
        return move.copy.end_offset < move.source.end_offset

    @property
    def _bytes_per_second(self) -> int:
        return self._logs.config.replica_alter_log_dirs_io_max_bytes_per_second

    async def _pace(self, size_bytes: float) -> None:
        """Wait as long as so many bytes may take, by a limit that may change meanwhile."""
        await asyncio.sleep(0)
        while size_bytes > 1:
            rate = self._bytes_per_second
            seconds = min(size_bytes / rate, _LOOK_S)
            await asyncio.sleep(seconds)
            size_bytes -= max(seconds * rate, 1)

    async def _next(self, move: _Move, max_bytes: int) -> Buffer:
        source, offset = move.source, move.copy.end_offset
        found = source.read(offset, max_bytes, source.end_offset, at_least_one=True)
        if found.cold is None:
            return found.data
        return await self._logs.finish_read(source, found.cold)

    def _append(self, move: _Move, data: Buffer) -> None:
        if not len(data):
            raise CorruptLog(f"{move.source.tp}: nothing to be read at {move.copy.end_offset}")
        # While a cold read was waited for, the source may have been cut.
        if not self._heed_changes(move):
            copy, now_ms, first = move.copy, self._clock(), parse_header(data).base_offset
            if first < copy.end_offset and not copy.size_bytes:
                # The log begins inside of a batch, as DeleteRecords may leave it.
                copy.reset_to(first, now_ms)
            copy.append_replicated(data, now_ms)

    def _heed_changes(self, move: _Move) -> bool:
        """Begin anew if what was copied is not what the source holds any more; True if so."""
        source, copy = move.source, move.copy
        if self._logs.get(source.tp) is not source:
            raise _Gone
        if move.generation == source.generation and source.start_offset <= copy.end_offset:
            return False
        move.generation = source.generation
        copy.reset_to(source.start_offset, self._clock())
        return True

    def _finish(self, move: _Move) -> bool:
        """Copy what is left and swap, before anybody appends again; False if there is too much left."""
        source, copy, copied = move.source, move.copy, 0
        while copied < _LAST_BYTES:
            if self._heed_changes(move):
                return False
            if copy.end_offset == source.end_offset:
                self._swap(move)
                return True
            found = source.read(copy.end_offset, _STEP_BYTES, source.end_offset, at_least_one=True)
            if found.cold is not None:
                return False
            copied += len(found.data)
            self._append(move, found.data)
        return False

    def _swap(self, move: _Move) -> None:
        source, target, end_offset = move.source, move.target, move.copy.end_offset
        move.copy.close(clean=True)
        # What records cannot tell: epochs in which none were written, producers whose records have expired.
        producers = Snapshots(move.path).to_write(end_offset, source.producers)
        for path, content in ((f"{move.path}/{EPOCHS_FILE}", source.epochs.encode()), *producers):
            fs.write_atomic(path, content)
        moved = move.path.removesuffix(FUTURE) + _MOVED
        fs.rename(move.path, moved)
        try:
            fs.sync_path(target.path)
            self._logs.set_aside(source)
        except StorageError:
            self._take_back(move, moved)
            raise
        self._logs.drop(source)
        try:
            fs.sync_path(source.log_dir.path)
            fs.rename(moved, f"{target.path}/{source.tp}")
            fs.sync_path(target.path)
            self._logs.take_in(source, target)
        except StorageError as failure:
            # Nobody appends to either any more, and the next start finds the whole log here.
            target.fail(LogDirOffline(str(failure)))
            raise
        log.info("log moved", partition=source.tp, to=target.path)

    def _take_back(self, move: _Move, moved: str) -> None:
        """The source stays: a copy that counted would hide, after a restart, what is appended to it now."""
        try:
            fs.rename(moved, move.path)
        except StorageError as failure:
            move.source.log_dir.fail(LogDirOffline(str(failure)))

    def _discard(self, move: _Move) -> None:
        move.copy.close(clean=False)
        if move.target.offline is None:
            self._remove_later(move.path, 0)


def settle_moves(dirs: Sequence[LogDir]) -> list[tuple[TopicPartition, LogDir]]:
    """Finish the moves that were decided when the broker crashed; those that were not, to be begun anew."""
    undecided = []
    online = [each for each in dirs if each.offline is None]
    for log_dir in online:
        with suppress(LogDirOffline):  # whoever opens its logs meets the same, and says so
            for name in fs.list_directories(log_dir.path):
                match = _MOVING.fullmatch(name)
                if match is None:
                    continue
                tp = TopicPartition(match["topic"], int(match["partition"]))
                if match["state"] == FUTURE:
                    undecided.append((tp, log_dir))
                else:
                    _finish_renames(tp, f"{log_dir.path}/{name}", log_dir, online)
    return undecided


def _finish_renames(
    tp: TopicPartition, moved: str, log_dir: LogDir, dirs: Sequence[LogDir]
) -> None:
    for other in dirs:
        old = f"{other.path}/{tp}"
        if other is not log_dir and fs.exists(old):
            fs.rename(old, f"{old}.{uuid.uuid4().hex}-delete")
            fs.sync_path(other.path)
    fs.rename(moved, f"{log_dir.path}/{tp}")
    fs.sync_path(log_dir.path)
    log.info("move finished after a crash", partition=tp, directory=log_dir.path)

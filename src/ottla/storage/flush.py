"""Making a log durable beside the loop: begin on the loop, sync in a thread, finish on the loop.

A plain flush syncs the .log files, and the directory when a segment is new: all that an ack under
flush.messages=1 needs. A checkpoint also writes and syncs what recovery would otherwise have to
rebuild (indexes, leader epochs, a producer snapshot): then the recovery point may move, and a
crash costs a scan of only what came later.
"""

import asyncio
from concurrent.futures import Executor
from typing import TYPE_CHECKING, NamedTuple

from ottla.base.errors import LogDirOffline, StorageError
from ottla.base.tasks import note_failure
from ottla.storage import fs
from ottla.storage.segment import Segment

if TYPE_CHECKING:
    from ottla.storage.log import Log


class FlushTicket(NamedTuple):
    """What one flush has to sync, and how far the log is durable afterwards."""

    end_offset: int
    generation: int
    sealed: list[Segment]
    active: tuple[Segment, int]
    is_checkpoint: bool
    fds: list[int]
    files: list[tuple[str, bytes]]
    sync_paths: list[str]

    def run(self) -> None:
        """Wait for the disk; runs in a thread and touches nothing but files."""
        try:
            for fd in self.fds:
                fs.datasync(fd)
            for path, content in self.files:
                fs.write_atomic(path, content, sync_directory=False)
            for path in self.sync_paths:
                fs.sync_path(path)
        finally:
            for fd in self.fds:
                fs.close(fd)


class Flusher:
    """Groups flushes: one sync at a time for each log acknowledges all that came before it."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._waiting: dict[Log, list[tuple[int, asyncio.Future[None]]]] = {}
        self._running: set[asyncio.Task[None]] = set()

    def synced(self, log: "Log", offset: int) -> "asyncio.Future[None]":
        """A future that is done once everything below the offset is on the disk."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if log.synced_offset >= offset:
            future.set_result(None)
            return future
        waiting = self._waiting.get(log)
        if waiting is not None:
            waiting.append((offset, future))
            return future
        self._waiting[log] = [(offset, future)]
        task = asyncio.ensure_future(self._flush_while_asked(log))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return future

    async def flush(self, log: "Log", *, checkpoint: bool = False, final: bool = False) -> None:
        """Flush a log once; a failed sync takes its directory offline."""
        try:
            ticket = log.flush_begin(checkpoint=checkpoint, final=final)
            if ticket is None:
                return
            await asyncio.get_running_loop().run_in_executor(self._executor, ticket.run)
        except LogDirOffline as error:
            log.log_dir.fail(error)
            raise
        except StorageError:
            log.flush_failed()
            raise
        log.flush_done(ticket)

    async def drain(self) -> None:
        """Wait for the flushes under way."""
        while self._running:
            await asyncio.wait(self._running)

    async def _flush_while_asked(self, log: "Log") -> None:
        waiting = self._waiting[log]
        try:
            while waiting:
                await self.flush(log)
                done = [pair for pair in waiting if pair[0] <= log.synced_offset]
                gone = [pair for pair in waiting if pair[0] > log.end_offset]
                waiting[:] = [pair for pair in waiting if pair not in done and pair not in gone]
                _resolve(done, None)
                _resolve(gone, StorageError(f"{log.tp} was truncated below what was appended"))
        except StorageError as error:
            _resolve(waiting, error)
        except Exception as error:
            # A flaw; but whoever waits for this sync would wait for ever, and a fetcher with all its partitions.
            note_failure("flusher")
            _resolve(waiting, StorageError(f"{log.tp} cannot be synced: {error!r}"))
        finally:
            del self._waiting[log]


def _resolve(pairs: list[tuple[int, "asyncio.Future[None]"]], error: StorageError | None) -> None:
    for _, future in pairs:
        if future.done():
            continue
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)

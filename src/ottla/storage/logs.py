"""All partitions of all log.dirs: opened at start, placed, renamed when deleted, described.

A directory that fails goes offline with its partitions until a restart; the others go on.
"""

import asyncio
import os
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from ottla.base.errors import CorruptLog, LogDirOffline, StorageError
from ottla.base.ids import TopicPartition
from ottla.base.log import logger
from ottla.config.log import LogConfig
from ottla.config.storage import StorageConfig
from ottla.protocol.records.batch import Buffer
from ottla.storage import checkpoint, fs, strays
from ottla.storage.duties import Duties
from ottla.storage.flush import Flusher
from ottla.storage.log import Log
from ottla.storage.log_dir import LogDir
from ottla.storage.log_read import ColdRead
from ottla.storage.moves import FutureReplica, Moves, settle_moves
from ottla.storage.partition_metadata import read_topic_id, write_topic_id
from ottla.storage.producer_limit import ProducerLimit

log = logger(__name__)

_PARTITION = re.compile(r"(?P<topic>[A-Za-z0-9._-]+)-(?P<partition>\d+)")
_DELETED = re.compile(r".*-(delete|future)")
# Kafka's own metadata log, in a directory taken over from it, is not ours to touch.
_METADATA_TOPIC = "__cluster_metadata"
_MAX_NAME = 255
_THREADS = 8

ConfigFor = Callable[[str], LogConfig]
Clock = Callable[[], int]


class DirDescription(NamedTuple):
    """What DescribeLogDirs tells about one directory."""

    path: str
    offline: bool
    total_bytes: int
    usable_bytes: int
    sizes: dict[TopicPartition, int]
    futures: dict[TopicPartition, FutureReplica]


class Logs:
    """Every log this broker hosts."""

    def __init__(self, config: StorageConfig, config_for: ConfigFor, clock: Clock) -> None:
        self.config = config
        self.producer_limit = ProducerLimit(config.max_producers)
        self.dirs = [LogDir(os.path.abspath(path), self.producer_limit) for path in config.log_dirs]
        self.executor = ThreadPoolExecutor(_THREADS, thread_name_prefix="storage")
        self.flusher = Flusher(self.executor)
        self.on_offline: Callable[[LogDir, list[TopicPartition]], None] | None = None
        self._config_for = config_for
        self._clock = clock
        self._logs: dict[TopicPartition, Log] = {}
        self._rubbish: list[str] = []
        self._duties = Duties(self, clock)
        self.moves = Moves(self, clock, self._duties.remove_tree_later)
        # Who hears that the log of a partition is in another directory now.
        self.on_moved: Callable[[Log], None] | None = None
        self._strays: list[strays.Stray] = []
        self._interrupted_moves: list[tuple[TopicPartition, LogDir]] = []
        # The broker epoch of the last clean stop, if it was one of every directory and no log has lost anything since;
        # else -1 (KIP-966).
        self.previous_broker_epoch = -1

    def __iter__(self) -> Iterator[Log]:
        return iter(list(self._logs.values()))

    def __len__(self) -> int:
        return len(self._logs)

    def get(self, tp: TopicPartition) -> Log | None:
        """The log of a partition, or None when it is not here or its directory is offline."""
        return self._logs.get(tp)

    def lock(self) -> None:
        """Keep other brokers out of the directories."""
        for log_dir in self.dirs:
            log_dir.on_offline = self._went_offline
            try:
                log_dir.acquire()
            except LogDirOffline as error:
                log_dir.fail(error)
        self._check_usable()

    def check_owner(self, cluster_id: str, node_id: int, engine: str) -> None:
        """Check that none of the locked directories is another broker's; nothing is written."""
        self._each_online(lambda log_dir: log_dir.check_owner(cluster_id, node_id, engine))

    def identify(self, cluster_id: str, node_id: int, engine: str) -> None:
        """Check that the locked directories are this broker's, and make those so that are new."""
        self._each_online(lambda log_dir: log_dir.identify(cluster_id, node_id, engine))

    def _each_online(self, act: Callable[[LogDir], object]) -> None:
        for log_dir in self.dirs:
            try:
                if log_dir.offline is None:
                    act(log_dir)
            except LogDirOffline as error:
                log_dir.fail(error)
        self._check_usable()

    def open(self, known: Mapping[TopicPartition, uuid.UUID] | None = None) -> None:
        """Open every log in the locked directories.

        `known` says which partitions should be here; a directory of any other, or of an earlier
        topic of the same name, is set aside as stray. None opens whatever there is.
        """
        epochs = []
        self._interrupted_moves = settle_moves(self.dirs)
        for log_dir in self.dirs:
            try:
                if log_dir.offline is None:
                    epochs.append(self._open_dir(log_dir, known))
            except LogDirOffline as error:
                log_dir.fail(error)
            except CorruptLog as error:
                log_dir.fail(LogDirOffline(str(error)))
        self._check_usable()
        is_whole = len(set(epochs)) == 1 and len(epochs) == len(self.dirs)
        self.previous_broker_epoch = epochs[0] if is_whole else -1

    def start(self) -> None:
        """Begin the background duties on the running loop."""
        self._duties.start()
        for path in self._rubbish:
            self._duties.remove_tree_later(path, 0)
        self._rubbish.clear()
        self._delete_strays()
        for tp, log_dir in self._interrupted_moves:
            if tp in self._logs and log_dir.offline is None:
                self.moves.begin(tp, log_dir)

    def _delete_strays(self) -> None:
        retention_ms = self.config.stray_retention_ms
        delay_ms = self._config_for("").file_delete_delay_ms
        for stray in self._strays:
            due_ms = strays.due_in_ms(stray, retention_ms, delay_ms, self._clock())
            if due_ms is not None:
                self._duties.remove_tree_later(stray.directory, due_ms)

    def count_strays(self) -> int:
        """How many directories are set aside and not yet deleted."""
        return sum(fs.exists(stray.directory) for stray in self._strays)

    async def apply_retention(self) -> None:
        """Delete what has expired now, and not when it is next looked for."""
        await self._duties.apply_retention()

    async def close(self, *, clean: bool = True, broker_epoch: int = -1) -> None:
        """Stop; when clean, make all logs durable and leave the marker that says so."""
        await self.moves.stop()
        await self._duties.stop()
        await self.flusher.drain()
        if clean:
            await asyncio.gather(*(self._close_clean(each) for each in self))
            await self._duties.write_checkpoints()
        for each in self:
            each.close(clean=False)
        self._logs.clear()
        for log_dir in self.dirs:
            if clean and log_dir.offline is None:
                checkpoint.mark_clean_shutdown(log_dir.path, broker_epoch)
            log_dir.release()
        self.executor.shutdown()

    def create(self, tp: TopicPartition, topic_id: uuid.UUID) -> Log:
        """Make the log of a new partition in the directory that has the fewest."""
        existing = self._logs.get(tp)
        if existing is not None:
            return existing
        log_dir = self._emptiest_dir()
        directory = f"{log_dir.path}/{tp}"
        try:
            created = self._open_log(log_dir, directory, tp, topic_id, clean=True)
        except LogDirOffline as error:
            log_dir.fail(error)
            raise
        try:
            write_topic_id(directory, topic_id)
        except StorageError as error:
            # Without its topic id it would pass for a partition of any topic of the name.
            self.drop(created)
            if isinstance(error, LogDirOffline):
                log_dir.fail(error)
            raise
        return created

    def delete(self, tp: TopicPartition) -> None:
        """Take a partition away: its directory is renamed now and removed later."""
        gone = self._logs.pop(tp, None)
        if gone is None:
            return
        self.moves.end(tp)
        path = self.set_aside(gone)
        gone.close(clean=False)
        log.info("partition deleted", partition=tp, directory=path)

    def set_aside(self, gone: Log) -> str:
        """Rename the directory of a log that is not wanted any more, to be removed later; its new path."""
        path = self._set_aside(gone.log_dir.path, str(gone.tp), "delete")
        self._duties.remove_tree_later(path, gone.config.file_delete_delay_ms)
        return path

    def drop(self, gone: Log) -> None:
        """Close a log whose directory was set aside."""
        del self._logs[gone.tp]
        gone.close(clean=False)

    def take_in(self, old: Log, log_dir: LogDir) -> None:
        """Open the log of a partition where it was moved to, in place of the one that was dropped."""
        opened = self._open_log(
            log_dir,
            f"{log_dir.path}/{old.tp}",
            old.tp,
            old.topic_id,
            clean=True,
            start_offset=old.start_offset,
        )
        opened.high_watermark = old.high_watermark
        opened.first_dirty_offset = old.first_dirty_offset
        if self.on_moved is not None:
            self.on_moved(opened)

    def configure(self, topic: str, config: LogConfig) -> None:
        """Give the logs of a topic new settings."""
        for each in self:
            if each.tp.topic == topic:
                each.config = config

    async def finish_read(self, source: Log, cold: ColdRead) -> Buffer:
        """Do a cold read in a thread."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self.executor, cold.read)
        except LogDirOffline as error:
            source.log_dir.fail(error)
            raise

    def describe(self) -> list[DirDescription]:
        """The directories and what lies in them."""
        return [self._describe(log_dir) for log_dir in self.dirs]

    async def _close_clean(self, each: Log) -> None:
        try:
            await self.flusher.flush(each, checkpoint=True, final=True)
        except StorageError as error:
            # Without the marker the next start scans, which is what a failed flush calls for.
            each.log_dir.fail(LogDirOffline(str(error)))

    def _check_usable(self) -> None:
        if all(log_dir.offline for log_dir in self.dirs):
            raise StorageError(f"no usable log directory: {self.dirs[0].offline}")

    def _open_dir(self, log_dir: LogDir, known: Mapping[TopicPartition, uuid.UUID] | None) -> int:
        epoch = checkpoint.take_clean_shutdown(log_dir.path)
        is_whole = True
        points = checkpoint.read(log_dir.path, checkpoint.RECOVERY_POINTS)
        starts = checkpoint.read(log_dir.path, checkpoint.START_OFFSETS)
        marks = checkpoint.read(log_dir.path, checkpoint.HIGH_WATERMARKS)
        cleaned = checkpoint.read(log_dir.path, checkpoint.CLEANER_OFFSETS)
        for name in fs.list_directories(log_dir.path):
            directory = f"{log_dir.path}/{name}"
            match = _PARTITION.fullmatch(name)
            if _DELETED.fullmatch(name):
                self._rubbish.append(directory)
            if match is None or match["topic"] == _METADATA_TOPIC:
                continue
            tp = TopicPartition(match["topic"], int(match["partition"]))
            topic_id = read_topic_id(directory)
            if self._is_stray(tp, topic_id, known):
                log.warning("stray partition set aside", directory=directory)
                self._set_aside(log_dir.path, name, strays.SUFFIX[1:])
                continue
            opened = self._open_log(
                log_dir,
                directory,
                tp,
                topic_id or (known or {}).get(tp, uuid.UUID(int=0)),
                clean=epoch is not None,
                recovery_point=points.get(tp, 0),
                start_offset=starts.get(tp, 0),
            )
            opened.high_watermark = min(
                max(marks.get(tp, 0), opened.start_offset), opened.end_offset
            )
            opened.first_dirty_offset = cleaned.get(tp, 0)
            if epoch is not None and opened.end_offset < points.get(tp, 0):
                log.warning(
                    "log is shorter than when it was closed",
                    partition=tp,
                    end_offset=opened.end_offset,
                    closed_at=points[tp],
                )
                is_whole = False
        self._strays += strays.find(log_dir.path, self._clock())
        return -1 if epoch is None or not is_whole else epoch

    def _is_stray(
        self,
        tp: TopicPartition,
        topic_id: uuid.UUID | None,
        known: Mapping[TopicPartition, uuid.UUID] | None,
    ) -> bool:
        if tp in self._logs:
            return True
        if known is None:
            return False
        return tp not in known or (topic_id is not None and topic_id != known[tp])

    def _open_log(
        self,
        log_dir: LogDir,
        directory: str,
        tp: TopicPartition,
        topic_id: uuid.UUID,
        *,
        clean: bool,
        recovery_point: int = 0,
        start_offset: int = 0,
    ) -> Log:
        opened = self._logs[tp] = Log.open(
            directory,
            tp,
            self._config_for(tp.topic),
            topic_id=topic_id,
            clean_shutdown=clean,
            recovery_point=recovery_point,
            log_start_offset=start_offset,
            now_ms=self._clock(),
            log_dir=log_dir,
        )
        return opened

    def _emptiest_dir(self) -> LogDir:
        online = [log_dir for log_dir in self.dirs if log_dir.offline is None]
        if not online:
            raise LogDirOffline("every log directory is offline; check the disks and restart")
        if len(online) == 1:
            return online[0]
        counts = dict.fromkeys(online, 0)
        for each in self._logs.values():
            counts[each.log_dir] += 1
        return min(online, key=lambda log_dir: counts[log_dir])

    def _set_aside(self, parent: str, name: str, why: str) -> str:
        suffix = f".{uuid.uuid4().hex}-{why}"
        topic, _, partition = name.rpartition("-")
        kept = topic[: _MAX_NAME - len(suffix) - len(partition) - 1]
        path = f"{parent}/{kept}-{partition}{suffix}"
        fs.rename(f"{parent}/{name}", path)
        return path

    def _went_offline(self, log_dir: LogDir) -> None:
        lost = [tp for tp, each in self._logs.items() if each.log_dir is log_dir]
        for tp in lost:
            self._logs.pop(tp).close(clean=False)
        if self.on_offline is not None:
            self.on_offline(log_dir, lost)

    def _describe(self, log_dir: LogDir) -> DirDescription:
        if log_dir.offline is not None:
            return DirDescription(log_dir.path, True, -1, -1, {}, {})
        total, usable = fs.disk_space(log_dir.path)
        sizes = {each.tp: each.size_bytes for each in self if each.log_dir is log_dir}
        futures = self.moves.in_directory(log_dir)
        return DirDescription(log_dir.path, False, total, usable, sizes, futures)

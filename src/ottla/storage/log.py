"""One partition's log: segments in order, appended at the end, deleted from the start.

Synchronous and owned by the event loop. What may wait for the disk leaves through tickets: a
flush (storage/flush.py) and a cold read (storage/log_read.py) run in threads on descriptors of
their own. Offsets are ordered start <= recovery point, synced <= end. `high_watermark` is set by
the replication layer; storage reads it for retention and for the checkpoint only.
"""

import random
import uuid
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from ottla.base.errors import ApiError, CorruptLog, DiskFull, LogDirOffline, OffsetOutOfRange
from ottla.base.ids import TopicPartition
from ottla.base.log import logger
from ottla.config.log import LogConfig
from ottla.protocol.errors import ErrorCode
from ottla.protocol.records.batch import (
    CONTROL_FLAG,
    BatchHeader,
    Buffer,
    iter_headers,
    patch_offset_and_epoch,
)
from ottla.protocol.records.control import EndTransactionMarker
from ottla.storage import fs, log_read, recovery
from ottla.storage.epochs import LeaderEpochs
from ottla.storage.flush import FlushTicket
from ottla.storage.gaps import GAPS_FILE, Gaps
from ottla.storage.leftovers import rename_segment
from ottla.storage.log_dir import LogDir
from ottla.storage.log_read import LogRead
from ottla.storage.partition_metadata import FILE_NAME as PARTITION_METADATA
from ottla.storage.producer_state import CompletedTxn, ProducerState
from ottla.storage.recovery import EPOCHS_FILE
from ottla.storage.replay import load_producers, read_marker
from ottla.storage.retention import SegmentFacts, expired_segments
from ottla.storage.segment import MAX_RELATIVE_OFFSET, Segment
from ottla.storage.snapshots import Snapshots
from ottla.storage.starved import StarvedProducers
from ottla.storage.txn_index import AbortedTxn
from ottla.storage.unsynced import Unsynced

log = logger(__name__)

DELETED_SUFFIX = ".deleted"


class Appended(NamedTuple):
    """Where a batch went, or where it already was."""

    base_offset: int
    last_offset: int
    log_start_offset: int
    duplicate: bool = False


class Log:
    """The log of one partition."""

    __slots__ = (
        "_active",
        "_config",
        "_directory_changed",
        "_flush_messages",
        "_fresh",
        "_index_interval",
        "_max_entries",
        "_roll_after_ms",
        "_segment_bytes",
        "_snapshots",
        "_starved",
        "_unsynced",
        "directory",
        "end_offset",
        "epochs",
        "first_dirty_offset",
        "gaps",
        "generation",
        "high_watermark",
        "last_flush_ms",
        "log_dir",
        "max_message_bytes",
        "producers",
        "recovery_point",
        "segments",
        "start_offset",
        "synced_offset",
        "syncs_every_batch",
        "topic_id",
        "tp",
    )

    def __init__(
        self,
        directory: str,
        tp: TopicPartition,
        config: LogConfig,
        topic_id: uuid.UUID,
        log_dir: LogDir,
        loaded: recovery.Loaded,
    ) -> None:
        self.directory = directory
        self.tp = tp
        self.topic_id = topic_id
        self.log_dir = log_dir
        self.segments: list[Segment] = loaded.segments
        self.start_offset = loaded.start_offset
        self.end_offset = loaded.end_offset
        self.synced_offset = self.recovery_point = loaded.recovery_point
        self.high_watermark = self.start_offset
        self.epochs: LeaderEpochs = loaded.epochs
        self.gaps: Gaps = loaded.gaps
        self.producers: ProducerState = loaded.producers
        log_dir.producer_limit.adopt(self.producers)
        self.last_flush_ms = 0
        self._active = self.segments[-1]
        self._snapshots: Snapshots = loaded.snapshots
        known = loaded.recovery_point == loaded.end_offset
        checked = (self._active, self._active.size_bytes if known else 0)
        self._unsynced = Unsynced(loaded.unsynced, checked)
        self._directory_changed = self._fresh = True
        # Truncations so far: whatever was read or written before one may not be the log's any more.
        self.generation = 0
        self._starved = StarvedProducers()
        self.first_dirty_offset = 0
        self.config = config

    @classmethod
    def open(
        cls,
        directory: str,
        tp: TopicPartition,
        config: LogConfig,
        *,
        topic_id: uuid.UUID,
        clean_shutdown: bool,
        recovery_point: int = 0,
        log_start_offset: int = 0,
        now_ms: int,
        log_dir: LogDir | None = None,
    ) -> "Log":
        """Open the log in a directory, which is made when it does not exist."""
        fs.make_directory(directory)
        loaded = recovery.load(
            directory,
            config.index_interval_bytes,
            clean=clean_shutdown,
            recovery_point=recovery_point,
            start_offset=log_start_offset,
            now_ms=now_ms,
        )
        home = log_dir or LogDir(directory.rpartition("/")[0])
        return cls(directory, tp, config, topic_id, home, loaded)

    @property
    def config(self) -> LogConfig:
        """The topic's settings; may be replaced while the log is in use."""
        return self._config

    @config.setter
    def config(self, config: LogConfig) -> None:
        self._config = config
        self._segment_bytes = config.segment_bytes
        self.max_message_bytes = config.max_message_bytes
        self._index_interval = config.index_interval_bytes
        self._flush_messages = config.flush_messages
        self.syncs_every_batch = config.flush_messages == 1
        # The time index keeps its last slot for the entry written when the segment is rolled.
        self._max_entries = max(config.segment_index_bytes // 12 - 1, 1)
        segment_ms = config.segment_ms
        if "compact" in config.cleanup_policy:  # what is not rolled cannot be compacted
            segment_ms = min(segment_ms, config.max_compaction_lag_ms)
        jitter_ms = min(config.segment_jitter_ms, segment_ms)
        self._roll_after_ms = segment_ms - (random.randrange(jitter_ms) if jitter_ms else 0)

    @property
    def size_bytes(self) -> int:
        """Bytes of all .log files."""
        return sum(segment.size_bytes for segment in self.segments)

    @property
    def unflushed_bytes(self) -> int:
        """How many bytes recovery would have to scan after a crash."""
        if self.recovery_point >= self.end_offset:
            return 0
        return self._unsynced.bytes_behind_checkpoint(self._active)

    @property
    def wants_sync(self) -> bool:
        """Whether flush.messages asks for a sync before what was appended is acknowledged."""
        return self.end_offset - self.synced_offset >= self._flush_messages

    def append(
        self, batch: memoryview | bytearray, header: BatchHeader, leader_epoch: int, now_ms: int
    ) -> Appended:
        """Give a checked batch its offsets and write it; one sent again is only looked up."""
        if self.log_dir.offline is not None:
            raise LogDirOffline(str(self.log_dir.offline))
        base_offset = self.end_offset
        has_producer = header.producer_id >= 0
        marker: EndTransactionMarker | None = None
        if has_producer:
            if header.attributes & CONTROL_FLAG:
                marker = read_marker(batch, header)
            try:
                duplicate = self.producers.check(header, marker)
            except ApiError as refusal:
                raise self._starved.reason(refusal, header.producer_id, now_ms) from None
            if duplicate is not None:
                return Appended(*duplicate, self.start_offset, True)
        size = len(batch)
        if size > self._segment_bytes:
            raise ApiError(
                ErrorCode.RECORD_LIST_TOO_LARGE,
                f"a batch of {size} bytes does not fit into segment.bytes={self._segment_bytes}",
            )
        last_offset, max_timestamp = base_offset + header.last_offset_delta, header.max_timestamp
        try:
            if self._must_roll(last_offset, size, max_timestamp, now_ms):
                self.roll(now_ms, base_offset)
            segment = self._active
            patch_offset_and_epoch(batch, 0, base_offset, leader_epoch)
            position = self._write(segment, batch)
        except DiskFull:
            self._starved.refused(header.producer_id, now_ms)
            raise
        segment.index(position, size, last_offset, max_timestamp, self._index_interval)
        if leader_epoch > self.epochs.latest:
            self.epochs.assign(leader_epoch, base_offset)
        self.end_offset = last_offset + 1
        if has_producer:
            completed = self.producers.update(header, base_offset, now_ms, marker)
            if completed is not None:
                self._note_completed(segment, completed)
            self._starved.fed(header.producer_id)
        # Not Appended(...), which is a Python function and takes almost twice as long.
        return tuple.__new__(Appended, (base_offset, last_offset, self.start_offset, False))

    def append_replicated(self, batches: Buffer, now_ms: int) -> int:
        """Append batches that carry their offsets and epochs already; returns the new end offset.

        A torn last batch, as fetches may end with, is left out.
        """
        if self.log_dir.offline is not None:
            raise LogDirOffline(str(self.log_dir.offline))
        view = memoryview(batches)
        run: list[tuple[int, BatchHeader]] = []
        expected = self.end_offset
        for pos, header in iter_headers(view):
            if header.base_offset < expected:
                raise CorruptLog(
                    f"{self.tp}: replicated batch at {header.base_offset}, expected {expected}"
                )
            if header.base_offset > expected:
                self._allow_gap_at(header.base_offset)
            expected = header.last_offset + 1
            run_bytes = pos - run[0][0] if run else 0
            if self._must_roll(
                header.last_offset, run_bytes + header.size_bytes, header.max_timestamp, now_ms
            ):
                self._append_run(view, run, now_ms)
                run = []
                self.roll(now_ms, header.base_offset)
            run.append((pos, header))
        self._append_run(view, run, now_ms)
        return self.end_offset

    def read(
        self, offset: int, max_bytes: int, upper_offset: int, *, at_least_one: bool = False
    ) -> LogRead:
        """Whole batches from the one that holds the offset, none that reaches upper_offset.

        When the bytes are not in the page cache, `cold.read()` of the answer fetches them in a
        thread. With at_least_one, the first batch comes whole even if it exceeds max_bytes.
        """
        if offset < self.start_offset or offset > self.end_offset:
            raise OffsetOutOfRange(
                f"{self.tp}: offset {offset} is not within {self.start_offset}..{self.end_offset}"
            )
        if self.log_dir.offline is not None:
            raise LogDirOffline(str(self.log_dir.offline))
        try:
            return log_read.read(self, offset, max_bytes, upper_offset, at_least_one)
        except LogDirOffline as error:
            self.log_dir.fail(error)
            raise

    def scans_for_time(self, timestamp_ms: int, upper_offset: int) -> Iterator[log_read.Scan]:
        """What to look through, each in a thread, for the first record not older."""
        return log_read.scans_for_time(self, timestamp_ms, upper_offset)

    def scans_for_max_timestamp(self, upper_offset: int) -> Iterator[log_read.Scan]:
        """What to look through, in a thread, for the first record with the largest timestamp."""
        return log_read.scans_for_max_timestamp(self, upper_offset)

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """The greatest epoch at or below the one asked for, and where it ends; (-1, -1) if none."""
        return self.epochs.end_offset_for(epoch, self.end_offset)

    def first_unstable_offset(self) -> int | None:
        """The first offset that a read_committed consumer must not pass yet; what was deleted is none."""
        first = self.producers.first_unstable_offset(self.high_watermark)
        return None if first is None else max(first, self.start_offset)

    def aborted_transactions(self, fetch_offset: int, upper_offset: int) -> list[AbortedTxn]:
        """The aborted transactions within a range of offsets, by their first offset."""
        return log_read.aborted_transactions(self, fetch_offset, upper_offset)

    def segment_number(self, offset: int) -> int:
        """Which segment would hold an offset."""
        if offset >= self._active.base_offset:
            return len(self.segments) - 1
        return max(bisect_right(self.segments, offset, key=lambda each: each.base_offset) - 1, 0)

    def segment_end(self, number: int) -> int:
        """The offset at which a segment ends."""
        following = number + 1
        if following < len(self.segments):
            return self.segments[following].base_offset
        return self.end_offset

    def roll(self, now_ms: int, base_offset: int | None = None) -> Segment:
        """Seal the active segment and start another at the end of the log."""
        base = self.end_offset if base_offset is None else base_offset
        active = self._active
        if base == active.base_offset:
            return active
        active.seal()
        self._snapshots.write(base, self.producers)
        segment = Segment.create(self.directory, base, now_ms)
        self._unsynced.seal(active)
        self.segments.append(segment)
        self._active = segment
        self._directory_changed = True
        self.config = self._config  # draws the jitter of the new segment
        log.info("segment rolled", partition=self.tp, base_offset=base)
        return segment

    def flush_begin(self, *, checkpoint: bool = False, final: bool = False) -> FlushTicket | None:
        """What a thread has to sync to make everything appended so far durable, if anything."""
        behind = self.recovery_point if checkpoint else self.synced_offset
        if behind >= self.end_offset and not (checkpoint and (self.epochs.changed or final)):
            return None
        files: list[tuple[str, bytes]] = []
        paths: list[str] = []
        active = self._active
        if checkpoint:
            paths += active.flush_indexes(final=final)
            unchecked = self._unsynced.by_checkpoint
            paths += [path for segment in unchecked for path in segment.paths[1:]]
            files = self._checkpoint_files()
        if self._fresh:
            names = (PARTITION_METADATA, GAPS_FILE)
            paths += [*(f"{self.directory}/{name}" for name in names), self.log_dir.path]
        if self._directory_changed or files or paths:
            paths.append(self.directory)
        unflushed = self._unsynced.by_flush
        sealed = [*(self._unsynced.by_checkpoint if checkpoint else unflushed)]
        ticket = FlushTicket(
            end_offset=self.end_offset,
            generation=self.generation,
            sealed=sealed,
            active=(active, active.size_bytes),
            is_checkpoint=checkpoint,
            fds=[fs.dup(segment.fd) for segment in (*unflushed, active)],
            files=files,
            sync_paths=paths,
        )
        self._directory_changed = self._fresh = False
        return ticket

    def flush_done(self, ticket: FlushTicket) -> None:
        """Take note that a flush has finished."""
        if ticket.generation != self.generation:
            # Truncated meanwhile: what was synced may not be what the log holds now.
            return
        self.synced_offset = max(self.synced_offset, ticket.end_offset)
        self._unsynced.flushed(ticket.sealed)
        if ticket.is_checkpoint:
            self.recovery_point = max(self.recovery_point, ticket.end_offset)
            self._unsynced.checkpointed(ticket.sealed, ticket.active)
            self._snapshots.keep_newest_and({segment.base_offset for segment in self.segments})

    def flush_failed(self) -> None:
        """Take note that a flush did not write what it should have."""
        self.epochs.changed = self._directory_changed = self._fresh = True

    def truncate_to(self, offset: int, now_ms: int) -> None:
        """Remove every batch that reaches the offset or lies behind it."""
        if offset >= self.end_offset:
            return
        if offset <= self.start_offset or offset < self.segments[0].base_offset:
            self.reset_to(offset, now_ms)
            return
        number = self.segment_number(offset)
        self._delete_now(self.segments[number + 1 :])
        del self.segments[number + 1 :]
        self._active = active = self.segments[number]
        active.truncate_to(offset)
        self.end_offset = max(active.restore_tail(), active.base_offset)
        self._after_truncation()
        self.epochs.truncate_from_end(self.end_offset)
        self._replace_producers(
            load_producers(self.segments, self._snapshots, self.end_offset, now_ms)
        )
        log.info("log truncated", partition=self.tp, offset=self.end_offset)

    def reset_to(self, offset: int, now_ms: int) -> None:
        """Drop everything and start empty at an offset."""
        self._delete_now(self.segments)
        self.segments = [Segment.create(self.directory, offset, now_ms)]
        self._active = self.segments[0]
        self.start_offset = self.end_offset = offset
        self._after_truncation()
        self._snapshots.keep(lambda _: False)
        self.epochs.clear()
        self._replace_producers(ProducerState())
        log.info("log emptied", partition=self.tp, offset=offset)

    def _replace_producers(self, producers: ProducerState) -> None:
        self.log_dir.producer_limit.release(self.producers)
        self.producers = producers
        self.log_dir.producer_limit.adopt(producers)

    def advance_start_offset(self, offset: int) -> bool:
        """Hide the records below an offset; their segments go with the next retention run."""
        if offset <= self.start_offset:
            return False
        if offset > self.end_offset:
            raise OffsetOutOfRange(f"{self.tp}: {offset} is behind the end {self.end_offset}")
        self.start_offset = offset
        self.epochs.truncate_from_start(offset)
        return True

    def delete_expired(self, now_ms: int, upper_offset: int) -> list[str]:
        """Rename the files of segments past their retention; returns what to unlink later."""
        facts = [
            SegmentFacts(
                segment.base_offset,
                self.segment_end(number),
                segment.size_bytes,
                segment.largest_timestamp(),
            )
            for number, segment in enumerate(self.segments)
        ]
        count = expired_segments(facts, self._config, now_ms, self.start_offset, upper_offset)
        if count == 0:
            return []
        if count == len(self.segments):
            try:
                self.roll(now_ms)
            except DiskFull:
                # Space is what deletion is about to make; the last segment goes next time.
                count -= 1
        gone = self.segments[:count]
        del self.segments[:count]
        self._unsynced.forget(gone)
        first = self.segments[0].base_offset
        self.start_offset = max(self.start_offset, first)
        self.epochs.truncate_from_start(self.start_offset)
        log.info("segments deleted", partition=self.tp, count=count, start_offset=first)
        return self._retire(gone) + self._snapshots.retire_below(first, DELETED_SUFFIX)

    def replace_segments(self, old: list[Segment], cleaned: list[int], now_ms: int) -> list[str]:
        """Swap in segments written beside the log as `<base>.<suffix>.cleaned`, for compaction.

        The renames go through .swap, so that recovery finishes what a crash interrupts. Returns
        the files of the old segments, to be unlinked later.
        """
        self.gaps.allow_below(self.segment_end(self.segments.index(old[-1])))
        for base in sorted(cleaned, reverse=True):
            rename_segment(self.directory, base, ".cleaned", ".swap")
        retired = self._retire(old)
        for base in sorted(cleaned):
            rename_segment(self.directory, base, ".swap", "")
        kept = [segment for segment in self.segments if segment not in old]
        sizes = fs.list_files(self.directory)
        fresh = [
            Segment(self.directory, base, sizes[f"{base:020d}.log"], now_ms) for base in cleaned
        ]
        self.segments = sorted(kept + fresh, key=lambda segment: segment.base_offset)
        self._unsynced.forget(old)
        self._directory_changed = True
        bases = {segment.base_offset for segment in self.segments}
        return retired + self._snapshots.retire_between(bases, DELETED_SUFFIX)

    def collect_garbage(self) -> None:
        """Give back descriptors and indexes of sealed segments that are not being read."""
        for segment in self.segments[:-1]:
            segment.collect_garbage()

    def close(self, *, clean: bool = True) -> None:
        """Close the files; when clean, everything is first made durable."""
        if clean and self.log_dir.offline is None:
            ticket = self.flush_begin(checkpoint=True, final=True)
            if ticket is not None:
                ticket.run()
                self.flush_done(ticket)
        for segment in self.segments:
            segment.close()
        self.log_dir.producer_limit.release(self.producers)
        # Whoever still holds the log learns so, without harm to the directory it was in.
        self.log_dir = LogDir(self.log_dir.path)
        self.log_dir.offline = LogDirOffline(f"the log of {self.tp} is closed")

    def _must_roll(self, last_offset: int, size: int, max_timestamp: int, now_ms: int) -> bool:
        segment = self._active
        filled = segment.size_bytes
        return (
            filled + size > self._segment_bytes
            or (filled > 0 and segment.waited_ms(now_ms, max_timestamp) > self._roll_after_ms)
            or last_offset - segment.base_offset > MAX_RELATIVE_OFFSET
            or segment.entry_count >= self._max_entries
        )

    def _write(self, segment: Segment, data: Buffer) -> int:
        try:
            return segment.write(data)
        except LogDirOffline as error:
            self.log_dir.fail(error)
            raise

    def _append_run(
        self, view: memoryview, run: list[tuple[int, BatchHeader]], now_ms: int
    ) -> None:
        """Write consecutive batches that fit into the active segment with one call."""
        if not run:
            return
        segment = self._active
        start = run[0][0]
        data = view[start : run[-1][0] + run[-1][1].size_bytes]
        position = self._write(segment, data) - start
        for pos, header in run:
            last_offset = header.last_offset
            size = header.size_bytes
            segment.index(
                position + pos, size, last_offset, header.max_timestamp, self._index_interval
            )
            self.epochs.assign(header.leader_epoch, header.base_offset)
            self.end_offset = last_offset + 1
            if header.producer_id >= 0:
                marker = read_marker(view[pos : pos + size], header)
                completed = self.producers.update(header, header.base_offset, now_ms, marker)
                if completed is not None:
                    self._note_completed(segment, completed)

    def _allow_gap_at(self, offset: int) -> None:
        try:
            self.gaps.allow_at(offset)
        except LogDirOffline as error:
            self.log_dir.fail(error)
            raise

    def _note_completed(self, segment: Segment, completed: CompletedTxn) -> None:
        self.producers.replicated(self.high_watermark)
        if completed.is_abort:
            stable = self.producers.last_stable_offset(completed)
            segment.txn_index.append(AbortedTxn(*completed[:3], stable))

    def _checkpoint_files(self) -> list[tuple[str, bytes]]:
        files = []
        if self.epochs.changed:
            files.append((f"{self.directory}/{EPOCHS_FILE}", self.epochs.encode()))
            self.epochs.changed = False
        return files + self._snapshots.to_write(self.end_offset, self.producers)

    def _retire(self, segments: list[Segment]) -> list[str]:
        paths = []
        for segment in segments:
            paths += segment.rename(DELETED_SUFFIX)
            segment.close()
        return paths

    def _delete_now(self, segments: list[Segment]) -> None:
        for segment in segments:
            segment.close()
            fs.unlink(segment.paths)

    def _after_truncation(self) -> None:
        self.generation += 1
        self._directory_changed = True
        end = self.end_offset
        self.synced_offset = min(self.synced_offset, end)
        self.recovery_point = min(self.recovery_point, end)
        self.high_watermark = min(self.high_watermark, end)
        self.first_dirty_offset = min(self.first_dirty_offset, end)
        self._unsynced.truncated(self.segments[:-1], self._active)
        self._snapshots.keep(lambda offset: offset <= end)

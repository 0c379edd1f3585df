"""Compacts the sealed segments of one log, in a child process: two passes and new files beside it.

The first pass notes the keys of the dirty part, as many as fit into memory; what lies behind waits
for another round. The second copies every segment up to there into .cleaned files and leaves out
what is shadowed. Nothing that the broker uses is touched: it swaps the files in, group by group.
"""

import time
from collections.abc import Iterator

from ottla.base.errors import CorruptLog, ProtocolError
from ottla.protocol.records.batch import (
    HEADER_SIZE,
    NO_PRODUCER_ID,
    BatchHeader,
    Buffer,
    parse_header,
)
from ottla.protocol.records.compression import Codec
from ottla.protocol.records.record import record_section
from ottla.storage import fs
from ottla.storage.cleaned_segment import CleanedSegment
from ottla.storage.cleaned_transactions import CleanedTransactions
from ottla.storage.cleaner_job import Cleaned, Event, Job, Progress, Replacement
from ottla.storage.compacted_batch import empty_batch, stamped_batch, thinned_batch
from ottla.storage.compaction import SegmentFiles, group_segments
from ottla.storage.dirty_keys import ALIVE, DEAD, TOMBSTONE, DirtyKeys
from ottla.storage.producer_state import ProducerEntry, ProducerState
from ottla.storage.recovery import good_batches
from ottla.storage.replay import read_marker
from ottla.storage.segment import Segment

_REPORT_SECONDS = 0.5
_BURY_TOMBSTONES = bytes.maketrans(bytes([TOMBSTONE]), bytes([DEAD]))


def clean(job: Job) -> Iterator[Event]:
    """Compact a log; says what to swap in while it goes on."""
    cleaner = _Cleaner(job)
    try:
        yield from cleaner.run()
    except ProtocolError as error:
        raise CorruptLog(f"{job.directory}, batch at {cleaner.offset}: {error}") from error


class _Cleaner:
    def __init__(self, job: Job) -> None:
        self._job = job
        self._segments = [
            Segment(job.directory, base, size, job.now_ms) for base, _, size in job.segments
        ]
        # Its last batch stays, if only as a header, lest a consumer never gets to the log's end.
        self._last_segment = next(
            (segment for segment in reversed(self._segments) if segment.size_bytes), None
        )
        aborted = [txn for segment in self._segments for txn in segment.txn_index.all()]
        self._transactions = CleanedTransactions([*aborted, *job.later_aborted])
        self._last_of_producer = {
            entry.producer_id: entry
            for entry in ProducerState.decode_snapshot(job.producers).entries()
        }
        self.offset = job.first_dirty_offset
        self._keys = DirtyKeys()
        self._end_offset = job.first_dirty_offset
        self._number = self._keys.next_number
        self._pace = _Pace(job.io_bytes_per_second)

    def run(self) -> Iterator[Event]:
        """Both passes."""
        yield from self._note_dirty_keys()
        job = self._job
        sizes = fs.list_files(job.directory)
        files = [
            SegmentFiles(
                base,
                end,
                size,
                sizes.get(f"{base:020d}.index", 0),
                sizes.get(f"{base:020d}.timeindex", 0),
            )
            for base, end, size in job.segments
            if base < self._end_offset
        ]
        for group in group_segments(files, job.segment_bytes, job.segment_index_bytes):
            yield from self._clean_group([each.base_offset for each in group])
        yield self._pace.report()
        yield Cleaned(self._end_offset)

    def _note_dirty_keys(self) -> Iterator[Event]:
        for segment, (_, end_offset, _) in zip(self._segments, self._job.segments, strict=True):
            if end_offset <= self._job.first_dirty_offset:
                continue
            for header, batch in self._batches(segment):
                if header.last_offset < self._job.first_dirty_offset:
                    continue
                if not header.is_control and not self._transactions.is_aborted(header):
                    self._keys.note(*_section_of(header, batch), header.count)
                self._end_offset = header.last_offset + 1
                if self._pace.must_report():
                    yield self._pace.report()
                if self._keys.memory_bytes > self._job.memory_bytes:
                    return
            self._end_offset = end_offset

    def _clean_group(self, old: list[int]) -> Iterator[Event]:
        """Copy neighbouring segments into one."""
        segments = [segment for segment in self._segments if segment.base_offset in old]
        target = CleanedSegment(self._job.directory, old[0], self._job.index_interval_bytes)
        changed = len(segments) > 1
        for segment in segments:
            left = segment.size_bytes
            for header, batch in self._batches(segment):
                left -= header.size_bytes
                is_last = not left and segment is self._last_segment
                kept = self._left_of(header, batch, target, is_last)
                changed = changed or kept is not batch
                if kept is not None:
                    self._pace.wrote(len(kept))
                    latest = (header if kept is batch else parse_header(kept)).max_timestamp
                    target.append(kept, header.last_offset, latest)
                if self._pace.must_report():
                    yield self._pace.report()
        if not changed:
            target.discard()
            return
        target.finish(fs.modified_ms(segments[-1].path))
        fs.sync_path(self._job.directory)
        yield Replacement(old, old[0])

    def _left_of(
        self, header: BatchHeader, batch: memoryview, target: CleanedSegment, is_last: bool
    ) -> Buffer | None:
        """What stays of a batch: all of it, some of it, its header, or nothing."""
        if header.is_control:
            kept = self._left_of_marker(header, batch, target)
        else:
            self._transactions.meet_data(header)
            kept = self._left_of_data(header, batch)
        if kept is None and (is_last or self._is_last_of_producer(header)):
            return empty_batch(header) if header.count else batch
        return kept

    def _left_of_marker(
        self, header: BatchHeader, batch: memoryview, target: CleanedSegment
    ) -> Buffer | None:
        has_no_data = self._transactions.meet_marker(header, read_marker(batch, header))
        is_known_dirty = header.base_offset >= self._end_offset
        aborted = self._transactions.aborted_by(header)
        if aborted is not None and (is_known_dirty or not has_no_data):
            target.note_aborted(aborted)
        if is_known_dirty or not has_no_data:
            return batch
        if not header.count:
            return None
        if header.has_delete_horizon:
            return batch if self._job.now_ms < header.base_timestamp else None
        return stamped_batch(header, *_section_of(header, batch), bytes([ALIVE]), self._horizon_ms)

    def _left_of_data(self, header: BatchHeader, batch: memoryview) -> Buffer | None:
        if header.base_offset >= self._end_offset:
            return batch
        if self._transactions.is_aborted(header) or not header.count:
            return None
        section: tuple[bytes, int] | None = None
        if header.last_offset >= self._job.first_dirty_offset:
            states = self._keys.states(self._number, header.count)
            self._number += header.count
        else:
            section = _section_of(header, batch)
            states = self._keys.judge(*section, header.count)
        if header.has_delete_horizon and self._job.now_ms >= header.base_timestamp:
            states = states.translate(_BURY_TOMBSTONES)
        must_stamp = TOMBSTONE in states and not header.has_delete_horizon
        if DEAD not in states and not must_stamp:
            return batch
        if states.count(DEAD) == header.count:
            return None
        section = section or _section_of(header, batch)
        if must_stamp:
            return stamped_batch(header, *section, states, self._horizon_ms)
        return thinned_batch(header, *section, states)

    @property
    def _horizon_ms(self) -> int:
        return self._job.now_ms + self._job.delete_retention_ms

    def _is_last_of_producer(self, header: BatchHeader) -> bool:
        """Whether an active producer's last sequence, or else its epoch, is only known from here."""
        if header.producer_id == NO_PRODUCER_ID:
            return False
        last: ProducerEntry | None = self._last_of_producer.get(header.producer_id)
        if last is None:
            return False
        if last.last_offset >= 0:
            return header.last_offset == last.last_offset
        return header.is_control and header.producer_epoch == last.epoch

    def _batches(self, segment: Segment) -> Iterator[tuple[BatchHeader, memoryview]]:
        end = 0
        try:
            for position, header, batch in good_batches(segment, 0, segment.base_offset):
                self._pace.read(header.size_bytes)
                self.offset = header.base_offset
                yield header, batch
                end = position + header.size_bytes
        finally:
            segment.close()
        if end != segment.size_bytes:
            raise CorruptLog(f"{segment.path}: no sound batch at {end}; it is not compacted")


class _Pace:
    """Counts bytes, keeps them below a rate, and says when a report is due."""

    def __init__(self, bytes_per_second: float) -> None:
        self._seconds_per_byte = 1 / bytes_per_second if bytes_per_second else 0.0
        self._ahead_until = self._reported_at = time.monotonic()
        self._read = self._written = 0
        self._unpaid = 0

    def read(self, size: int) -> None:
        """Count bytes read, and wait when there were too many lately."""
        self._read += size
        self._unpaid += size
        if self._unpaid * self._seconds_per_byte > 0.01:
            now = time.monotonic()
            due = max(self._ahead_until, now) + self._unpaid * self._seconds_per_byte
            self._ahead_until, self._unpaid = due, 0
            time.sleep(max(due - now, 0))

    def wrote(self, size: int) -> None:
        """Count bytes written."""
        self._written += size
        self._unpaid += size

    def must_report(self) -> bool:
        """Whether the last report was a while ago."""
        return time.monotonic() - self._reported_at > _REPORT_SECONDS

    def report(self) -> Progress:
        """What was read and written since the last report."""
        progress = Progress(self._read, self._written)
        self._read = self._written = 0
        self._reported_at = time.monotonic()
        return progress


def _section_of(header: BatchHeader, batch: memoryview) -> tuple[bytes, int]:
    """The records of a batch: bytes, and where in them the first record begins."""
    if header.codec == Codec.NONE:
        return bytes(batch), HEADER_SIZE
    return bytes(record_section(batch, header)), 0

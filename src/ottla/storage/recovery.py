"""Opening a partition directory, after a clean stop or after a crash.

After a clean stop nothing is scanned: the end of the log follows from the last index entry, the
producers from the newest snapshot. After a crash every batch behind the recovery point is checked
(length, magic, CRC, offsets); the log is cut at the first bad one, later segments are deleted, and
indexes, leader epochs and producers are rebuilt along the way. Below the recovery point files were
synced before it was recorded, so the scan starts at an index entry there.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from ottla.base.errors import CorruptLog
from ottla.base.log import logger
from ottla.base.units import LONG_MAX, MiB
from ottla.protocol.records.batch import (
    CURRENT_MAGIC,
    HEADER_SIZE,
    LOG_OVERHEAD,
    BatchHeader,
    crc_of,
    parse_header,
    patch_offset_and_epoch,
)
from ottla.storage import fs
from ottla.storage.epochs import LeaderEpochs
from ottla.storage.gaps import Gaps
from ottla.storage.leftovers import settle_leftovers
from ottla.storage.producer_state import ProducerState
from ottla.storage.replay import apply_batch, load_producers, recall_recent, replay
from ottla.storage.segment import INDEX_SUFFIXES, LOG_SUFFIX, MAX_RELATIVE_OFFSET, Segment
from ottla.storage.snapshots import SNAPSHOT_SUFFIX, Snapshots

log = logger(__name__)

EPOCHS_FILE = "leader-epoch-checkpoint"
_SCAN_BYTES = 4 * MiB
# So many entries of the index from its end a log is looked at after a clean stop: some 64 KiB, with Kafka's interval.
_TAIL_ENTRIES = 16


class Loaded(NamedTuple):
    """What an opened directory amounts to."""

    segments: list[Segment]
    unsynced: list[Segment]
    start_offset: int
    end_offset: int
    recovery_point: int
    epochs: LeaderEpochs
    producers: ProducerState
    snapshots: Snapshots
    gaps: Gaps


def load(
    directory: str,
    index_interval: int,
    *,
    clean: bool,
    recovery_point: int,
    start_offset: int,
    now_ms: int,
) -> Loaded:
    """Open every segment of a directory and bring its state to the end of the log."""
    files = settle_leftovers(directory)
    segments = _open_segments(directory, files, now_ms)
    epochs = load_epochs(directory)
    snapshots = Snapshots(
        directory, (int(name[:20]) for name in files if name.endswith(SNAPSHOT_SUFFIX))
    )
    gaps = Gaps.read(directory)
    if not segments:
        segments = [Segment.create(directory, start_offset, now_ms)]
        gaps.begin(start_offset)
    loader = _Loader(segments, epochs, snapshots, gaps, index_interval, now_ms)
    loader.rebuild_missing_indexes(files)
    unsynced: list[Segment] = []
    end_offset = loader.open_clean() if clean else None
    if end_offset is None:
        unsynced = loader.recover(min(recovery_point, loader.sound_until))
        end_offset = loader.end_offset
    else:
        recovery_point = end_offset
    if not gaps.is_known:
        gaps.begin(end_offset)
    if start_offset > end_offset:
        return _start_over(directory, segments, snapshots, gaps, start_offset, now_ms)
    start_offset = max(start_offset, segments[0].base_offset)
    epochs.truncate_from_end(end_offset)
    epochs.truncate_from_start(start_offset)
    # A marker that was lost is fetched again: an aborted transaction that is told twice hides all that follows it.
    segments[-1].txn_index.truncate_to(end_offset)
    snapshots.keep(lambda offset: offset <= end_offset)
    return Loaded(
        segments,
        unsynced,
        start_offset,
        end_offset,
        min(recovery_point, end_offset),
        epochs,
        loader.producers,
        snapshots,
        gaps,
    )


class _Loader:
    """The state that a log is brought to while its segments are walked."""

    def __init__(
        self,
        segments: list[Segment],
        epochs: LeaderEpochs,
        snapshots: Snapshots,
        gaps: Gaps,
        index_interval: int,
        now_ms: int,
    ) -> None:
        self.segments = segments
        self.epochs = epochs
        self.snapshots = snapshots
        self.index_interval = index_interval
        self.gaps = gaps
        self.now_ms = now_ms
        self.producers = ProducerState()
        self.end_offset = segments[0].base_offset
        self.sound_until = LONG_MAX
        self._apply_from = 0

    def rebuild_missing_indexes(self, files: dict[str, int]) -> None:
        """Index the sealed segments that have lost a file, as Kafka does."""
        for segment in self.segments[:-1]:
            name = f"{segment.base_offset:020d}"
            if segment.size_bytes and not {f"{name}.index", f"{name}.timeindex"} <= files.keys():
                log.warning("index missing, rebuilt", segment=segment.path)
                rebuild_indexes(segment, self.index_interval)
                segment.seal()

    def open_clean(self) -> int | None:
        """The end of a log that was closed properly; None when it was not after all."""
        active = self.segments[-1]
        try:
            end_offset = max(active.restore_tail(), active.base_offset)
            self._check_tail(active)
        except CorruptLog as error:
            log.warning("clean shutdown marker contradicted", error=str(error))
            return None
        self.producers = load_producers(self.segments, self.snapshots, end_offset, self.now_ms)
        recall_recent(active, self.producers, self.now_ms)
        return end_offset

    def _check_tail(self, active: Segment) -> None:
        """Files may have come to harm since: of what was written last nobody else may have a copy to compare with."""
        index = active.offset_index
        position = index.entry(-_TAIL_ENTRIES)[1] if index.count >= _TAIL_ENTRIES else 0
        tail: list[tuple[int, BatchHeader]] = []
        end_offset = active.base_offset
        for start, header, _ in good_batches(active, position, active.base_offset):
            if tail and self.gaps.are_violated(end_offset, header.base_offset):
                break
            tail.append((start, header))
            position, end_offset = start + header.size_bytes, header.last_offset + 1
        if position < active.size_bytes:
            self.sound_until = end_offset
            raise CorruptLog(f"{active.path}: the batch at position {position} is damaged")
        self._mend_epochs(active, tail)

    def _mend_epochs(self, active: Segment, tail: list[tuple[int, BatchHeader]]) -> None:
        """No CRC covers the leader epoch of a batch, but the checkpoint tells it, too.

        It is believed where it never heard of the other, since it is written when an epoch begins, and where nearly all
        batches agree with it.
        """
        told = ((start, header, self.epochs.epoch_of(header.base_offset)) for start, header in tail)
        wrong = [each for each in told if each[1].leader_epoch != each[2] >= 0]
        known = {epoch for epoch, _ in self.epochs.entries()}
        for start, header, epoch in wrong:
            if header.leader_epoch not in known or 2 * len(wrong) < len(tail):
                log.warning("leader epoch mended", segment=active.path, position=start, epoch=epoch)
                mended = bytearray(fs.pread(active.fd, HEADER_SIZE, start))
                patch_offset_and_epoch(mended, 0, header.base_offset, epoch)
                fs.write_at(active.fd, mended, start)

    def recover(self, recovery_point: int) -> list[Segment]:
        """Scan from the recovery point on; returns the sealed segments that may not be synced."""
        bases = [segment.base_offset for segment in self.segments]
        first = max(sum(1 for base in bases if base <= recovery_point) - 1, 0)
        position, offset = trusted_start(self.segments[first], recovery_point)
        self.end_offset = offset
        self.epochs.truncate_from_end(offset)
        # A segment that is scanned from its start gets all its indexes anew, that of aborted transactions included.
        latest = max(recovery_point, offset) if position else offset
        self.producers, known = self.snapshots.newest(latest)
        if known < offset:
            replay(self.segments[: first + 1], self.producers, known, offset, self.now_ms)
        self._apply_from = max(offset, known)
        self.segments[first].txn_index.truncate_to(self._apply_from)
        for number in range(first, len(self.segments)):
            if not self._scan(self.segments[number], position if number == first else 0):
                self._cut_behind(number)
                break
            if number + 1 < len(self.segments):
                following = self.segments[number + 1].base_offset
                if following < self.end_offset or self.gaps.are_violated(
                    self.end_offset, following
                ):
                    self._cut_behind(number)
                    break
                self.segments[number].seal()
        if self.end_offset < self._apply_from:
            # A bad batch below the recovery point: the snapshot taken there knows too much.
            self.producers = load_producers(
                self.segments, self.snapshots, self.end_offset, self.now_ms
            )
        return self.segments[first:-1]

    def _scan(self, segment: Segment, position: int) -> bool:
        """Check and index the batches of a segment from a position; False when it was cut."""
        if position == 0:
            segment.reset_indexes()
            self.end_offset = max(self.end_offset, segment.base_offset)
        size = segment.size_bytes
        for start, header, batch in good_batches(segment, position, self.end_offset):
            if self.gaps.are_violated(self.end_offset, header.base_offset):
                break
            last_offset = header.last_offset
            segment.index(
                start, header.size_bytes, last_offset, header.max_timestamp, self.index_interval
            )
            self.epochs.assign(header.leader_epoch, header.base_offset)
            if header.producer_id >= 0 and header.base_offset >= self._apply_from:
                apply_batch(self.producers, segment, header, batch, self.now_ms)
            self.end_offset = last_offset + 1
            position = start + header.size_bytes
        if position == size:
            return True
        log.warning("log cut at the first bad batch", segment=segment.path, position=position)
        fs.truncate(segment.fd, position)
        segment.size_bytes = position
        return False

    def _cut_behind(self, number: int) -> None:
        for segment in self.segments[number + 1 :]:
            log.warning("segment behind a bad batch deleted", segment=segment.path)
            segment.close()
            fs.unlink(segment.paths)
        del self.segments[number + 1 :]


def good_batches(
    segment: Segment, position: int, expected_offset: int
) -> Iterator[tuple[int, BatchHeader, memoryview]]:
    """Position, header and bytes of each batch that is whole and sound, up to the first other."""
    size = segment.size_bytes
    fd = segment.fd
    chunk = memoryview(b"")
    at = 0
    while position + HEADER_SIZE <= size:
        if at + HEADER_SIZE > len(chunk):
            chunk, at = memoryview(fs.pread(fd, _SCAN_BYTES, position)), 0
        header = parse_header(chunk, at)
        end = header.length + LOG_OVERHEAD
        if (
            header.magic != CURRENT_MAGIC
            or end < HEADER_SIZE
            or position + end > size
            or header.base_offset < expected_offset
            or header.last_offset_delta < 0
            or header.last_offset - segment.base_offset > MAX_RELATIVE_OFFSET
        ):
            return
        if at + end > len(chunk):
            chunk, at = memoryview(fs.pread(fd, max(end, _SCAN_BYTES), position)), 0
        if crc_of(chunk, at, end) != header.crc:
            return
        yield position, header, chunk[at : at + end]
        expected_offset = header.last_offset + 1
        position += end
        at += end


def trusted_start(segment: Segment, recovery_point: int) -> tuple[int, int]:
    """Where a scan may begin: the last index entry below the recovery point, else the start.

    Cuts the indexes back to there. Returns (position, offset of the batch at it).
    """
    index = segment.offset_index
    for each in (index, segment.time_index, segment.txn_index):
        each.make_writable()
    index.truncate_to(recovery_point)
    if index.count:
        last_offset, position = index.entry(-1)
        header = _header_at(segment, position)
        if header is not None and header.last_offset == last_offset:
            segment.time_index.keep_through(last_offset)
            segment.resume_at(position)
            return position, header.base_offset
    return 0, segment.base_offset


def rebuild_indexes(segment: Segment, index_interval: int) -> None:
    """Write the offset and time index of a segment anew; the transaction index stays."""
    aborted = segment.txn_index.all()
    segment.reset_indexes()
    for start, header, _ in good_batches(segment, 0, segment.base_offset):
        segment.index(
            start, header.size_bytes, header.last_offset, header.max_timestamp, index_interval
        )
    for txn in aborted:
        segment.txn_index.append(txn)


def load_epochs(directory: str) -> LeaderEpochs:
    """The leader epochs as last written; a malformed file counts as none."""
    try:
        return LeaderEpochs.decode(fs.read_file(f"{directory}/{EPOCHS_FILE}") or b"0\n0\n")
    except CorruptLog as error:
        log.warning("leader epochs unreadable", directory=directory, error=str(error))
        return LeaderEpochs()


def _open_segments(directory: str, files: dict[str, int], now_ms: int) -> list[Segment]:
    bases = {int(name[:20]) for name in files if re.fullmatch(r"\d{20}\.log", name)}
    orphans = [
        name
        for name in files
        if name.endswith(INDEX_SUFFIXES) and name[:20].isdigit() and int(name[:20]) not in bases
    ]
    fs.unlink(f"{directory}/{name}" for name in orphans)
    return [
        Segment(directory, base, files[f"{base:020d}{LOG_SUFFIX}"], now_ms)
        for base in sorted(bases)
    ]


def _start_over(
    directory: str,
    segments: list[Segment],
    snapshots: Snapshots,
    gaps: Gaps,
    start_offset: int,
    now_ms: int,
) -> Loaded:
    log.error(
        "log ends before its start offset, its files were lost",
        directory=directory,
        start_offset=start_offset,
    )
    for segment in segments:
        segment.close()
        fs.unlink(segment.paths)
    snapshots.keep(lambda _: False)
    fresh = Segment.create(directory, start_offset, now_ms)
    epochs = LeaderEpochs()
    epochs.changed = True
    producers = ProducerState()
    return Loaded(
        [fresh], [], start_offset, start_offset, start_offset, epochs, producers, snapshots, gaps
    )


def _header_at(segment: Segment, position: int) -> BatchHeader | None:
    head = fs.pread(segment.fd, HEADER_SIZE, position)
    return parse_header(head) if len(head) == HEADER_SIZE else None

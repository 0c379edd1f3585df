"""Opening a partition directory, after a clean stop or after a crash.

After a clean stop nothing is scanned: the end of the log follows from the last index entry, the
producers from the newest snapshot. After a crash every batch behind the recovery point is checked
(length, magic, CRC, offsets); the log is cut at the first bad one, later segments are deleted, and indexes, leader epochs and producers are rebuilt along the way. Below the recovery
point files were synced before it was recorded, so the scan starts at an index entry there.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ottla.base.errors import CorruptLog, ProtocolError
from ottla.base.log import logger
from ottla.base.units import MINUTE_MS, KiB, MiB
from ottla.protocol.records.batch import (
    CURRENT_MAGIC,
    HEADER_SIZE,
    LOG_OVERHEAD,
    BatchHeader,
    Buffer,
    crc_of,
    iter_headers,
    parse_header,
)
from ottla.protocol.records.control import EndTransactionMarker, read_end_transaction_marker
from ottla.storage import fs
from ottla.storage.epochs import LeaderEpochs
from ottla.storage.producer_state import ProducerState
from ottla.storage.segment import (
    INDEX_SUFFIXES,
    LOG_SUFFIX,
    MAX_RELATIVE_OFFSET,
    Segment,
    file_prefix,
)
from ottla.storage.txn_index import AbortedTxn

log = logger(__name__)

EPOCHS_FILE = "leader-epoch-checkpoint"
SNAPSHOT_SUFFIX = ".snapshot"

OffsetTest = Callable[[int], bool]

_NAME = re.compile(r"(\d{20})(\.log|\.index|\.timeindex|\.txnindex|\.snapshot)(\.swap|\.cleaned)?")
_RUBBISH = (".deleted", ".cleaned", ".tmp")
_SCAN_BYTES = 4 * MiB
_REPLAY_BYTES = 64 * KiB
_RECALL_BYTES = 256 * KiB
_RECALL_MS = 15 * MINUTE_MS


class Loaded(NamedTuple):
    """What an opened directory amounts to."""

    segments: list[Segment]
    unsynced: list[Segment]
    start_offset: int
    end_offset: int
    recovery_point: int
    epochs: LeaderEpochs
    producers: ProducerState
    snapshots: list[int]


def snapshot_path(directory: str, offset: int) -> str:
    """Where the producers as of an offset are kept."""
    return file_prefix(directory, offset) + SNAPSHOT_SUFFIX


def load(
    directory: str,
    index_interval: int,
    *,
    clean: bool,
    dense: bool,
    recovery_point: int,
    start_offset: int,
    now_ms: int,
) -> Loaded:
    """Open every segment of a directory and bring its state to the end of the log.

    `dense` says that compaction leaves no gaps in this log: then every offset must follow the one
    before. The CRC does not cover it, and a lost tail of a sealed segment shows in nothing else.
    """
    files = settle_leftovers(directory)
    segments = _open_segments(directory, files, now_ms)
    epochs = load_epochs(directory)
    snapshots = sorted(int(name[:20]) for name in files if name.endswith(SNAPSHOT_SUFFIX))
    if not segments:
        segments = [Segment.create(directory, start_offset, now_ms)]
    loader = _Loader(directory, segments, epochs, snapshots, index_interval, dense, now_ms)
    loader.rebuild_missing_indexes(files)
    unsynced: list[Segment] = []
    end_offset = loader.open_clean() if clean else None
    if end_offset is None:
        unsynced = loader.recover(recovery_point)
        end_offset = loader.end_offset
    else:
        recovery_point = end_offset
    if start_offset > end_offset:
        return _start_over(directory, segments, snapshots, start_offset, now_ms)
    start_offset = max(start_offset, segments[0].base_offset)
    epochs.truncate_from_end(end_offset)
    epochs.truncate_from_start(start_offset)
    snapshots = _keep_snapshots(directory, snapshots, end_offset)
    return Loaded(
        segments,
        unsynced,
        start_offset,
        end_offset,
        min(recovery_point, end_offset),
        epochs,
        loader.producers,
        snapshots,
    )


class _Loader:
    """The state that a log is brought to while its segments are walked."""

    def __init__(
        self,
        directory: str,
        segments: list[Segment],
        epochs: LeaderEpochs,
        snapshots: list[int],
        index_interval: int,
        dense: bool,
        now_ms: int,
    ) -> None:
        self.directory = directory
        self.segments = segments
        self.epochs = epochs
        self.snapshots = snapshots
        self.index_interval = index_interval
        self.dense = dense
        self.now_ms = now_ms
        self.producers = ProducerState()
        self.end_offset = segments[0].base_offset
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
        except CorruptLog as error:
            log.warning("clean shutdown marker contradicted", error=str(error))
            return None
        self.producers = load_producers(
            self.directory, self.segments, self.snapshots, end_offset, self.now_ms
        )
        _recall_recent(active, self.producers, self.now_ms)
        return end_offset

    def recover(self, recovery_point: int) -> list[Segment]:
        """Scan from the recovery point on; returns the sealed segments that may not be synced."""
        bases = [segment.base_offset for segment in self.segments]
        first = max(sum(1 for base in bases if base <= recovery_point) - 1, 0)
        position, offset = trusted_start(self.segments[first], recovery_point)
        self.end_offset = offset
        self.epochs.truncate_from_end(offset)
        usable = [each for each in self.snapshots if each <= max(recovery_point, offset)]
        self.producers, known = newest_snapshot(self.directory, usable)
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
                if following < self.end_offset or (self.dense and following > self.end_offset):
                    self._cut_behind(number)
                    break
                self.segments[number].seal()
        if self.end_offset < self._apply_from:
            self._reload_producers()
        return self.segments[first:-1]

    def _scan(self, segment: Segment, position: int) -> bool:
        """Check and index the batches of a segment from a position; False when it was cut."""
        if position == 0:
            segment.reset_indexes()
            self.end_offset = max(self.end_offset, segment.base_offset)
        size = segment.size_bytes
        for start, header, batch in good_batches(segment, position, self.end_offset):
            if self.dense and header.base_offset != self.end_offset:
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

    def _reload_producers(self) -> None:
        # A bad batch below the recovery point: the snapshot taken there knows too much.
        usable = [each for each in self.snapshots if each <= self.end_offset]
        self.producers = load_producers(
            self.directory, self.segments, usable, self.end_offset, self.now_ms
        )


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


def load_producers(
    directory: str, segments: list[Segment], snapshots: list[int], end_offset: int, now_ms: int
) -> ProducerState:
    """The producers as of an offset: the newest snapshot that reads well, then a replay."""
    state, offset = newest_snapshot(directory, snapshots)
    replay(segments, state, offset, end_offset, now_ms)
    return state


def newest_snapshot(directory: str, snapshots: list[int]) -> tuple[ProducerState, int]:
    """The producers in the newest snapshot that reads well, and its offset; else none as of 0."""
    for offset in sorted(snapshots, reverse=True):
        content = fs.read_file(snapshot_path(directory, offset)) or b""
        try:
            return ProducerState.decode_snapshot(content), offset
        except CorruptLog as error:
            log.warning("producer snapshot skipped", directory=directory, error=str(error))
    return ProducerState(), 0


def replay(
    segments: list[Segment], state: ProducerState, offset: int, end_offset: int, now_ms: int
) -> None:
    """Let the batches from an offset up to another change the producers."""
    for number, segment in enumerate(segments):
        following = segments[number + 1].base_offset if number + 1 < len(segments) else end_offset
        if following > offset and segment.base_offset < end_offset:
            _replay(segment, state, max(offset, segment.base_offset), end_offset, now_ms)


def apply_batch(
    producers: ProducerState, segment: Segment, header: BatchHeader, batch: Buffer, now_ms: int
) -> None:
    """Let a batch of the log change the producers, and the transaction index when it aborts."""
    marker = read_marker(batch, header)
    completed = producers.update(header, header.base_offset, now_ms, marker)
    if completed is not None and completed.is_abort:
        stable = producers.last_stable_offset(completed)
        segment.txn_index.append(AbortedTxn(*completed[:3], stable))


def read_marker(batch: Buffer, header: BatchHeader) -> EndTransactionMarker | None:
    """What a control batch says about its transaction; None for every other batch."""
    if not header.is_control or not header.count:
        return None
    try:
        return read_end_transaction_marker(batch)
    except ProtocolError as error:
        raise CorruptLog(f"control batch at {header.base_offset}: {error}") from error


def settle_leftovers(directory: str) -> dict[str, int]:
    """Remove or complete what a crash interrupted; returns the files that count."""
    files = fs.list_files(directory)
    parsed = {name: match for name in files if (match := _NAME.fullmatch(name))}
    cleaned = [int(match[1]) for match in parsed.values() if match[3] == ".cleaned"]
    # Segments are renamed to .swap from the last to the first: while a .cleaned one is left, the
    # .swap ones behind it belong to a replacement that never took place, and the old data stands.
    first_cleaned = min(cleaned, default=None)
    swaps = {name: match for name, match in parsed.items() if match[3] == ".swap"}
    if first_cleaned is not None:
        void = [name for name, match in swaps.items() if int(match[1]) >= first_cleaned]
        fs.unlink(f"{directory}/{name}" for name in void)
        swaps = {name: match for name, match in swaps.items() if name not in void}
    fs.unlink(f"{directory}/{name}" for name in files if name.endswith(_RUBBISH))
    if swaps:
        _finish_swap(directory, swaps, parsed)
    rubbish = any(name.endswith((*_RUBBISH, ".swap")) for name in files)
    return fs.list_files(directory) if rubbish else files


def rename_segment(directory: str, base_offset: int, old: str, new: str) -> None:
    """Change the suffix of every file of a segment that exists, the .log file first."""
    prefix = file_prefix(directory, base_offset)
    for suffix in (LOG_SUFFIX, *INDEX_SUFFIXES):
        fs.rename(f"{prefix}{suffix}{old}", f"{prefix}{suffix}{new}", missing_ok=True)


def _finish_swap(
    directory: str, swaps: dict[str, "re.Match[str]"], parsed: dict[str, "re.Match[str]"]
) -> None:
    logs = [int(match[1]) for match in swaps.values() if match[2] == LOG_SUFFIX]
    if logs:
        low = min(logs)
        high = max(_end_of_swap(directory, base) for base in logs)
        covered = [
            name
            for name, match in parsed.items()
            if not match[3] and match[2] != SNAPSHOT_SUFFIX and low <= int(match[1]) < high
        ]
        fs.unlink(f"{directory}/{name}" for name in covered)
    for name in swaps:
        fs.rename(f"{directory}/{name}", f"{directory}/{name.removesuffix('.swap')}")
    fs.sync_path(directory)


def _end_of_swap(directory: str, base_offset: int) -> int:
    path = f"{file_prefix(directory, base_offset)}{LOG_SUFFIX}.swap"
    fd = fs.open_file(path)
    end_offset, position = base_offset, 0
    try:
        while len(head := fs.pread(fd, HEADER_SIZE, position)) == HEADER_SIZE:
            header = parse_header(head)
            end_offset = header.last_offset + 1
            position += max(header.size_bytes, HEADER_SIZE)
    finally:
        fs.close(fd)
    return end_offset


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
    directory: str, segments: list[Segment], snapshots: list[int], start_offset: int, now_ms: int
) -> Loaded:
    log.error(
        "log ends before its start offset, its files were lost",
        directory=directory,
        start_offset=start_offset,
    )
    for segment in segments:
        segment.close()
        fs.unlink(segment.paths)
    fs.unlink(snapshot_path(directory, offset) for offset in snapshots)
    fresh = Segment.create(directory, start_offset, now_ms)
    epochs = LeaderEpochs()
    epochs.changed = True
    return Loaded(
        [fresh], [], start_offset, start_offset, start_offset, epochs, ProducerState(), []
    )


def _keep_snapshots(directory: str, snapshots: list[int], end_offset: int) -> list[int]:
    fs.unlink(snapshot_path(directory, each) for each in snapshots if each > end_offset)
    return [each for each in snapshots if each <= end_offset]


def _replay(
    segment: Segment, state: ProducerState, offset: int, end_offset: int, now_ms: int
) -> None:
    """Feed headers to the producers; reads no more of the batches than it must."""
    position = segment.locate(offset, fs.pread, segment.fd, remember=False)
    chunk, at = b"", 0
    while position + HEADER_SIZE <= segment.size_bytes:
        if at + HEADER_SIZE > len(chunk):
            chunk, at = fs.pread(segment.fd, _REPLAY_BYTES, position), 0
        header = parse_header(chunk, at)
        if header.base_offset >= end_offset or header.length + LOG_OVERHEAD < HEADER_SIZE:
            return
        if header.producer_id >= 0:
            whole = b""
            if header.is_control:
                whole = fs.pread(segment.fd, header.size_bytes, position)
            state.update(header, header.base_offset, now_ms, read_marker(whole, header))
        position += header.size_bytes
        at += header.size_bytes


def _recall_recent(segment: Segment, producers: ProducerState, now_ms: int) -> None:
    """Refill the windows of producers that may still retry what they sent before the stop.

    A snapshot keeps one batch of each producer; Kafka answers such a retry with
    OUT_OF_ORDER_SEQUENCE_NUMBER. Only the last bit of the log is looked at.
    """
    if not any(now_ms - entry.timestamp < _RECALL_MS for entry in producers.entries()):
        return
    start = segment.offset_index.batch_at_or_below(max(segment.size_bytes - _RECALL_BYTES, 0))
    tail = fs.pread(segment.fd, segment.size_bytes - start, start)
    try:
        for _, header in iter_headers(tail):
            if header.producer_id >= 0:
                producers.recall(header)
    except ProtocolError as error:
        raise CorruptLog(f"{segment.path}: {error}") from error


def _header_at(segment: Segment, position: int) -> BatchHeader | None:
    head = fs.pread(segment.fd, HEADER_SIZE, position)
    return parse_header(head) if len(head) == HEADER_SIZE else None

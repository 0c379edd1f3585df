"""Bringing the producers of a log to its end: a snapshot, then the batches behind it."""

from ottla.base.errors import CorruptLog, ProtocolError
from ottla.base.units import MINUTE_MS, KiB
from ottla.protocol.records.batch import (
    HEADER_SIZE,
    LOG_OVERHEAD,
    BatchHeader,
    Buffer,
    iter_headers,
    parse_header,
)
from ottla.protocol.records.control import EndTransactionMarker, read_end_transaction_marker
from ottla.storage import fs
from ottla.storage.producer_state import ProducerState
from ottla.storage.segment import Segment
from ottla.storage.snapshots import Snapshots
from ottla.storage.txn_index import AbortedTxn

_REPLAY_BYTES = 64 * KiB
_RECALL_BYTES = 256 * KiB
_RECALL_MS = 15 * MINUTE_MS


def load_producers(
    segments: list[Segment], snapshots: Snapshots, end_offset: int, now_ms: int
) -> ProducerState:
    """The producers as of an offset: the newest snapshot that reads well, then a replay."""
    state, offset = snapshots.newest(end_offset)
    replay(segments, state, offset, end_offset, now_ms)
    return state


def replay(
    segments: list[Segment], state: ProducerState, offset: int, end_offset: int, now_ms: int
) -> None:
    """Let the batches from an offset up to another change the producers."""
    for number, segment in enumerate(segments):
        following = segments[number + 1].base_offset if number + 1 < len(segments) else end_offset
        if following > offset and segment.base_offset < end_offset:
            _replay_segment(segment, state, max(offset, segment.base_offset), end_offset, now_ms)


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


def recall_recent(segment: Segment, producers: ProducerState, now_ms: int) -> None:
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


def _replay_segment(
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

"""Prints and checks the index files and the producer snapshot of one segment."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import NamedTuple

from ottla.base.errors import CorruptLog
from ottla.cli.kafka.dumped_log import base_offset, batches, opened
from ottla.cli.kafka.options import Failed
from ottla.protocol.records.batch import BatchHeader
from ottla.protocol.records.record import read_records
from ottla.storage.index_file import IndexFile
from ottla.storage.offset_index import OffsetIndex
from ottla.storage.producer_state import ProducerEntry, ProducerState
from ottla.storage.time_index import TimeIndex
from ottla.storage.txn_index import TxnIndex

NO_TIMESTAMP = -1
_TIME_ENTRY = struct.Struct(">qi")


class IndexCheck(NamedTuple):
    """How to look at an index."""

    sanity_only: bool = False
    verify_only: bool = False


class TimeFlaws:
    """What does not fit between a time index and its log."""

    __slots__ = ("mismatches", "missing", "out_of_order")

    def __init__(self) -> None:
        self.mismatches: list[tuple[int, int]] = []
        self.out_of_order: list[tuple[int, int]] = []
        self.missing: list[tuple[int, int]] = []


def dump_offset_index(path: str, check: IndexCheck) -> list[tuple[int, int]]:
    """Print an offset index; the entries that do not fit the log, with what the log has there."""
    index = OffsetIndex(path, base_offset(path), bytearray(_content(path)))
    if not _worth_reading(index, check):
        return []
    mismatches = []
    with opened(_log_of(path)) as log:
        for offset, position in _offset_entries(index):
            found = next(batches(log, len(log), path, position), None)
            if found is None:
                raise Failed(f"{path}: offset {offset} points behind the log, to byte {position}")
            if found[1].last_offset != offset:
                mismatches.append((offset, found[1].last_offset))
            if not check.verify_only:
                print(f"offset: {offset} position: {position}")
    return mismatches


def dump_time_index(path: str, check: IndexCheck) -> TimeFlaws:
    """Print a time index; what of it does not fit the log."""
    index = TimeIndex(path, base_offset(path), bytearray(_content(path)))
    flaws = TimeFlaws()
    if not _worth_reading(index, check):
        return flaws
    beside = f"{os.path.splitext(path)[0]}.index"
    offsets = OffsetIndex(beside, index.base_offset)
    previous = NO_TIMESTAMP
    with opened(_log_of(path)) as log:
        for timestamp, offset in _time_entries(index):
            _compare(log, path, offsets.lookup(offset), (timestamp, offset), previous, flaws)
            if not check.verify_only:
                print(f"timestamp: {timestamp} offset: {offset}")
            previous = timestamp
    return flaws


def dump_txn_index(path: str) -> None:
    """Print the aborted transactions of a segment."""
    for aborted in TxnIndex(path, base_offset(path)).all():
        print(
            f"version: 0 producerId: {aborted.producer_id} firstOffset: {aborted.first_offset} "
            f"lastOffset: {aborted.last_offset} lastStableOffset: {aborted.last_stable_offset}"
        )


def dump_snapshot(path: str) -> None:
    """Print the producers that a snapshot remembers."""
    try:
        state = ProducerState.decode_snapshot(_content(path))
    except CorruptLog as flaw:
        raise Failed(f"{path}: {flaw}") from None
    for producer in state.entries():
        print(_producer_line(producer))


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _log_of(path: str) -> str:
    return f"{os.path.splitext(path)[0]}.log"


def _worth_reading(index: IndexFile, check: IndexCheck) -> bool:
    """Whether the entries are to be compared with the log; else the verdict has been printed."""
    if index.count == 0:
        print(f"{index.path} is empty.")
        return False
    if not check.sanity_only:
        return True
    size = os.path.getsize(index.path)
    if size % index.entry_size:
        raise Failed(
            f"Index file {index.path} is corrupt, found {size} bytes which is neither positive "
            f"nor a multiple of {index.entry_size}"
        )
    print(f"{index.path} passed sanity check.")
    return False


def _offset_entries(index: OffsetIndex) -> Iterator[tuple[int, int]]:
    """Entry by entry, up to the zeros with which Kafka preallocates the file."""
    for number in range(index.count):
        entry = index.entry(number)
        if number > 0 and entry[0] == index.base_offset:
            return
        yield entry


def _time_entries(index: TimeIndex) -> Iterator[tuple[int, int]]:
    for number, (timestamp, relative) in enumerate(_TIME_ENTRY.iter_unpack(index.entries)):
        if number > 0 and relative == 0:
            return
        yield timestamp, index.base_offset + relative


def _compare(
    log: memoryview,
    path: str,
    position: int,
    entry: tuple[int, int],
    previous: int,
    flaws: TimeFlaws,
) -> None:
    timestamp, offset = entry
    at, batch = _batch_with(log, path, position, offset)
    if batch is None or batch.last_offset != offset:
        flaws.missing.append((offset, -1 if batch is None else batch.last_offset))
        return
    newest = max((each.timestamp for each in read_records(log, at)), default=NO_TIMESTAMP)
    if newest != timestamp:
        flaws.mismatches.append((timestamp, newest))
    if previous >= timestamp:
        flaws.out_of_order.append((timestamp, previous))


def _batch_with(
    log: memoryview, path: str, position: int, offset: int
) -> tuple[int, BatchHeader | None]:
    for at, header in batches(log, len(log), path, position):
        if header.last_offset >= offset:
            return at, header
    return 0, None


def _producer_line(producer: ProducerEntry) -> str:
    first = producer.txn_first_offset
    line = (
        f"producerId: {producer.producer_id} producerEpoch: {producer.epoch} "
        f"coordinatorEpoch: {producer.coordinator_epoch} "
        f"currentTxnFirstOffset: OptionalLong{f'[{first}]' if first >= 0 else '.empty'} "
        f"lastTimestamp: {producer.timestamp} "
    )
    if producer.last_offset < 0:
        return line
    first_sequence = (producer.last_sequence - producer.offset_delta) & 0x7FFF_FFFF
    return line + (
        f"firstSequence: {first_sequence} lastSequence: {producer.last_sequence} "
        f"lastOffset: {producer.last_offset} offsetDelta: {producer.offset_delta} "
        f"timestamp: {producer.timestamp}"
    )

"""Prints the batches and records of one .log file, as Kafka's DumpLogSegments does."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeAlias

from ottla.base.errors import ProtocolError
from ottla.cli.kafka.options import Failed
from ottla.protocol.records.batch import BatchHeader, crc_of, iter_headers
from ottla.protocol.records.compression import Codec
from ottla.protocol.records.control import read_end_transaction_marker
from ottla.protocol.records.record import Record, read_records

Parser: TypeAlias = Callable[[Record], tuple[str | None, str | None]]
"""Key and payload of a record as they are shown; None for what is left out."""

ALL_BYTES = (1 << 31) - 1


class Wanted(NamedTuple):
    """What to show of a log."""

    deep: bool = False
    parser: Parser | None = None
    skip_metadata: bool = False
    max_bytes: int = ALL_BYTES


@contextmanager
def opened(path: str) -> Iterator[memoryview]:
    """The bytes of a file, without reading them all into memory."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        # An empty file cannot be mapped. A map cannot be closed while a failure still refers to it.
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
        yield memoryview(mapped)


def base_offset(path: str) -> int:
    """The offset that a file of a segment is named after."""
    name = os.path.basename(path)
    digits = name.split(".")[0]
    if not digits.isdecimal():
        raise Failed(f"{path}: the name of a segment's file is its first offset, not '{digits}'")
    return int(digits)


def dump_log(path: str, wanted: Wanted) -> list[tuple[int, int]]:
    """Print the log; the pairs of offsets between which some are missing."""
    print(f"Log starting offset: {base_offset(path)}")
    gaps: list[tuple[int, int]] = []
    last_offset = -1
    valid_bytes = 0
    with opened(path) as buf:
        end = min(len(buf), wanted.max_bytes)
        for position, header in batches(buf, end, path):
            print(_batch_line(buf, position, header))
            valid_bytes = position + header.size_bytes
            if wanted.deep:
                for record in _records(buf, position, header, path):
                    if last_offset not in (-1, record.offset - 1):
                        gaps.append((last_offset, record.offset))
                    last_offset = record.offset
                    print(_record_line(buf, position, header, record, wanted))
        if end > valid_bytes and wanted.max_bytes == ALL_BYTES:
            print(f"Found {end - valid_bytes} invalid bytes at the end of {os.path.basename(path)}")
    return gaps


def batches(
    buf: memoryview, end: int, path: str, start: int = 0
) -> Iterator[tuple[int, BatchHeader]]:
    """Each whole batch with its position; Failed where there is none."""
    try:
        yield from iter_headers(buf, start, end)
    except ProtocolError as flaw:
        raise Failed(f"{path}: {flaw}") from None


def _records(buf: memoryview, position: int, header: BatchHeader, path: str) -> list[Record]:
    try:
        return read_records(buf, position)
    except ProtocolError as flaw:
        raise Failed(f"{path}: batch at offset {header.base_offset}: {flaw}") from None


def _batch_line(buf: memoryview, position: int, header: BatchHeader) -> str:
    horizon = f"[{header.base_timestamp}]" if header.has_delete_horizon else ".empty"
    valid = header.crc == crc_of(buf, position, header.size_bytes)
    fields = {
        "baseOffset": header.base_offset,
        "lastOffset": header.last_offset,
        "count": header.count,
        "baseSequence": header.base_sequence,
        "lastSequence": header.last_sequence,
        "producerId": header.producer_id,
        "producerEpoch": header.producer_epoch,
        "partitionLeaderEpoch": header.leader_epoch,
        "isTransactional": _flag(header.is_transactional),
        "isControl": _flag(header.is_control),
        "deleteHorizonMs": f"OptionalLong{horizon}",
        "position": position,
        _time_name(header): header.max_timestamp,
        "size": header.size_bytes,
        "magic": header.magic,
        "compresscodec": _codec_name(header.codec),
        "crc": header.crc,
        "isvalid": _flag(valid),
    }
    return " ".join(f"{name}: {value}" for name, value in fields.items())


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _time_name(header: BatchHeader) -> str:
    return "LogAppendTime" if header.is_log_append_time else "CreateTime"


def _codec_name(number: int) -> str:
    try:
        return Codec(number).name.lower()
    except ValueError:
        return f"unknown({number})"


def _record_line(
    buf: memoryview, position: int, header: BatchHeader, record: Record, wanted: Wanted
) -> str:
    parts = [] if wanted.skip_metadata else _metadata(buf, position, header, record)
    if wanted.parser is not None and not header.is_control:
        key, payload = wanted.parser(record)
        parts += [] if key is None else [f"key: {key}"]
        parts += [] if payload is None else [f"payload: {payload}"]
    return "| " + " ".join(parts) if parts else ""


def _metadata(buf: memoryview, position: int, header: BatchHeader, record: Record) -> list[str]:
    sequence = -1
    if header.base_sequence >= 0:
        sequence = (header.base_sequence + record.offset - header.base_offset) & 0x7FFF_FFFF
    names = ",".join(name for name, _ in record.headers)
    parts = [
        f"offset: {record.offset}",
        f"{_time_name(header)}: {record.timestamp}",
        f"keySize: {-1 if record.key is None else len(record.key)}",
        f"valueSize: {-1 if record.value is None else len(record.value)}",
        f"sequence: {sequence}",
        f"headerKeys: [{names}]",
    ]
    if header.is_control:
        parts.append(_control(buf, position, record))
    return parts


def _control(buf: memoryview, position: int, record: Record) -> str:
    marker = read_end_transaction_marker(buf, position)
    if marker is None:
        kind = int.from_bytes((record.key or b"")[2:4], signed=True)
        return f"controlType: UNKNOWN({kind})"
    outcome = "COMMIT" if marker.committed else "ABORT"
    return f"endTxnMarker: {outcome} coordinatorEpoch: {marker.coordinator_epoch}"

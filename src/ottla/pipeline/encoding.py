"""Rows of an Arrow record batch, encoded whole into Kafka's record batches.

Python runs once a batch, compiled loops once a row.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ottla.client.errors import api_error
from ottla.pipeline.encoding_columns import binary, headers, timestamps_ms
from ottla.pipeline.encoding_loops import Binary, Blocks, pack
from ottla.protocol.errors import ErrorCode
from ottla.protocol.records.batch import (
    CURRENT_MAGIC,
    HEADER_SIZE,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    pack_batch,
)
from ottla.protocol.records.compression import Codec, compress

_SEQUENCE_MASK = 0x7FFF_FFFF


class Encoded(NamedTuple):
    """A whole record batch, and how many records it has."""

    bytes: bytearray
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody misses


class _Columns(NamedTuple):
    """What the rows consist of."""

    key: Binary
    value: Binary
    headers: Blocks
    timestamps: NDArray[np.int64]


class _Section(NamedTuple):
    """The records of one batch, not compressed."""

    records: memoryview
    count: int  # type: ignore[assignment]
    base_timestamp: int
    max_timestamp: int


def encode(
    batch: pa.RecordBatch,
    rows: NDArray[np.int64] | None,
    codec: int,
    level: int | None,
    producer: tuple[int, int, int] | None,
    is_transactional: bool,
    max_bytes: int,
    now_ms: int | None = None,
    max_record_bytes: int | None = None,
) -> list[Encoded]:
    """The given rows, or all, as batches of at most `max_bytes` each.

    `batch` has the column `value` and may have `key`, `headers` and `timestamp` (else it is `now_ms`,
    the clock's time by default). `producer` is its id, its epoch and the sequence of the first row.
    A record larger than `max_bytes` gets a batch of its own, unless that exceeds `max_record_bytes`.
    """
    columns = _columns(batch, int(time.time() * 1000) if now_ms is None else now_ms)
    if rows is None:
        rows = np.arange(batch.num_rows)
    rows = _checked(rows, batch.num_rows)
    encoded = []
    producer_id, epoch, sequence = producer or (NO_PRODUCER_ID, -1, NO_SEQUENCE)
    for section in _sections(columns, rows, max_bytes, max_record_bytes):
        header = BatchHeader(
            base_offset=0,
            length=0,
            leader_epoch=-1,
            magic=CURRENT_MAGIC,
            crc=0,
            attributes=TRANSACTIONAL_FLAG if is_transactional else 0,
            last_offset_delta=section.count - 1,
            base_timestamp=section.base_timestamp,
            max_timestamp=section.max_timestamp,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            count=section.count,
        )
        encoded.append(Encoded(_packed(header, section, codec, level), section.count))
        if sequence != NO_SEQUENCE:
            sequence = (sequence + section.count) & _SEQUENCE_MASK
    return encoded


def _columns(batch: pa.RecordBatch, now_ms: int) -> _Columns:
    found = dict(zip(batch.schema.names, batch.columns, strict=True))
    key = found.get("key")
    return _Columns(
        binary(pa.nulls(batch.num_rows, pa.binary()) if key is None else key, "key"),
        binary(found["value"], "value"),
        headers(found.get("headers")),
        timestamps_ms(found.get("timestamp"), batch.num_rows, now_ms),
    )


def _checked(rows: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """The rows as the loop wants them, which looks at nothing twice."""
    rows = np.ascontiguousarray(rows, np.int64).view()
    if len(rows) and not (rows.min() >= 0 and rows.max() < count):
        raise IndexError(f"rows {rows.min()} to {rows.max()} of a batch of {count}")
    rows.flags.writeable = False
    return rows


def _sections(
    columns: _Columns, rows: NDArray[np.int64], max_bytes: int, max_record_bytes: int | None
) -> Iterator[_Section]:
    """One record section after the other, all in the same memory."""
    out = np.empty(max(max_bytes - HEADER_SIZE, 1), np.uint8)
    begin = 0
    while begin < len(rows):
        target = out
        end, size, max_timestamp = pack(rows, begin, *columns, target)
        if size < 0:
            _check_size(-size, max_record_bytes)
            target = np.empty(-size, np.uint8)
            end, size, max_timestamp = pack(rows, begin, *columns, target)
        base_timestamp = int(columns.timestamps[rows[begin]])
        yield _Section(target.data[:size], end - begin, base_timestamp, max_timestamp)
        begin = end


def _check_size(size: int, max_record_bytes: int | None) -> None:
    if max_record_bytes is not None and size + HEADER_SIZE > max_record_bytes:
        raise api_error(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"a record of {size + HEADER_SIZE} bytes exceeds max.request.size={max_record_bytes}; "
            "raise it, and max.message.bytes of the topic, or send less",
        )


def _packed(header: BatchHeader, section: _Section, codec: int, level: int | None) -> bytearray:
    if codec != Codec.NONE:
        smaller = compress(codec, section.records, level)
        # What does not compress goes as it is: a frame around it would only exceed the limit.
        if len(smaller) < len(section.records):
            return pack_batch(header._replace(attributes=header.attributes | codec), smaller)
    return pack_batch(header, section.records)


def warm() -> None:
    """Compile the loops, or load them from the cache."""
    headers = pa.array([[{"key": "name", "value": b"value"}]])
    batch = pa.record_batch({"value": pa.array([b"value"]), "headers": headers})
    encode(batch, None, Codec.NONE, None, None, False, 1024, now_ms=0)

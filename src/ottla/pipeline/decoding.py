"""What a fetch brought of a partition, decoded whole into one Arrow record batch.

Python runs once a batch, compiled loops once a record. Importing this module imports numba, which
takes part of a second: whoever only plans a read does not need it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ottla.base.errors import ProtocolError
from ottla.base.units import INT_MAX, LONG_MAX, MiB
from ottla.client.isolation import Isolation
from ottla.pipeline.decoding_loops import (
    COUNT,
    FULL,
    Binary,
    Columns,
    HeaderColumns,
    fill,
    fill_headers,
)
from ottla.protocol.records.batch import (
    CURRENT_MAGIC,
    HEADER_SIZE,
    BatchHeader,
    Buffer,
    crc_of,
    iter_headers,
)
from ottla.protocol.records.builder import build_batch
from ottla.protocol.records.compression import Codec, decompress
from ottla.protocol.records.record import MIN_RECORD_SIZE, Record, decompressed_limit

DEFAULT_LIMIT_BYTES = 128 * MiB

HEADERS = pa.list_(pa.field("element", pa.struct([("key", pa.string()), ("value", pa.binary())])))
SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("timestampType", pa.int32()),
    ]
)
SCHEMA_WITH_HEADERS = SCHEMA.append(pa.field("headers", HEADERS))

_MAGIC_POS = 16
_ROW_BYTES = 64
"""What a row takes beside key, value and topic, at most."""


class Decoded(NamedTuple):
    """The rows of a fetch, None if there are none, and the offset to go on from.

    If that offset equals the one asked for, the fetch holds no whole batch from there on. Where rows
    were left out because of `limit_bytes`, decoding the same fetch from there on brings them.
    """

    batch: pa.RecordBatch | None
    next_offset: int


class _Section(NamedTuple):
    """The records of one batch, decompressed, and where they lie in what was fetched if they were not."""

    header: BatchHeader
    pos: int
    records: Buffer


def decode(
    data: Buffer,
    topic: str,
    partition: int,
    start: int,
    end: int,
    aborted: Sequence[tuple[int, int]] | None,
    headers: bool,
    limit_bytes: int = DEFAULT_LIMIT_BYTES,
    check_crcs: bool = True,
) -> Decoded:
    """The records with start <= offset < end that fit `limit_bytes`; a torn last batch is ignored.

    `aborted` has producer id and first offset of the aborted transactions; None reads uncommitted.
    """
    fetch = _Fetch(memoryview(data), f"{topic}-{partition}", start, end, check_crcs)
    limit_bytes = min(limit_bytes, INT_MAX)
    sections, next_offset = fetch.sections(Isolation(aborted), limit_bytes)
    if not sections:
        return Decoded(None, next_offset)
    records, plan = _plan(fetch.data, sections)
    room = max(1, limit_bytes // (_ROW_BYTES + len(topic)))
    total_bytes = sum(len(section.records) for section in sections)
    columns = _columns(min(int(plan[:, COUNT].sum()), room), total_bytes)
    flaw, rows, header_count, after = fill(records, plan, start, end, columns)
    if flaw >= 0:
        raise fetch.flaw(sections[flaw].header, "has records that do not end where they say")
    if flaw == FULL:
        next_offset = after
    if not rows:
        return Decoded(None, next_offset)
    arrays = _arrays(columns, rows, topic, partition)
    if not headers:
        return Decoded(pa.RecordBatch.from_arrays(arrays, schema=SCHEMA), next_offset)
    arrays.append(_headers(records, columns.headers_pos[:rows], header_count, total_bytes))
    return Decoded(pa.RecordBatch.from_arrays(arrays, schema=SCHEMA_WITH_HEADERS), next_offset)


class _Fetch:
    """The bytes of one fetch of a partition, and which of its offsets are wanted."""

    __slots__ = ("_check_crcs", "_end", "_name", "_start", "data")

    def __init__(self, data: memoryview, name: str, start: int, end: int, check_crcs: bool) -> None:
        self.data = data
        self._name = name
        self._start = start
        self._end = end
        self._check_crcs = check_crcs

    def sections(self, isolation: Isolation, limit_bytes: int) -> tuple[list[_Section], int]:
        """The batches that matter, up to a limit, and the offset behind the last one looked at."""
        found: list[_Section] = []
        next_offset, size_bytes = self._start, 0
        for pos, header in self._headers():
            if header.base_offset >= self._end:
                return found, max(next_offset, self._end)
            is_wanted = header.last_offset >= self._start
            if is_wanted or header.is_control:
                self._check(pos, header)
            if not isolation.hides(self.data, pos, header) and is_wanted and not _is_empty(header):
                section = self._section(pos, header)
                size_bytes += len(section.records)
                if found and size_bytes > limit_bytes:
                    return found, next_offset
                found.append(section)
            next_offset = max(next_offset, header.last_offset + 1)
        return found, next_offset

    def _headers(self) -> Iterator[tuple[int, BatchHeader]]:
        if len(self.data) > _MAGIC_POS and self.data[_MAGIC_POS] < CURRENT_MAGIC:
            raise ProtocolError(
                f"{self._name} holds messages of format {self.data[_MAGIC_POS]}, from before Kafka 0.11; "
                "copy the topic with a client that can read them, or begin behind them"
            )
        try:
            yield from iter_headers(self.data)
        except ProtocolError as error:
            raise ProtocolError(f"what was fetched of {self._name} is broken: {error}") from None

    def _check(self, pos: int, header: BatchHeader) -> None:
        if self._check_crcs and crc_of(self.data, pos, header.size_bytes) != header.crc:
            raise self.flaw(header, "fails its checksum")
        if header.base_offset < 0 or header.last_offset_delta < 0 or header.last_offset >= LONG_MAX:
            raise self.flaw(header, f"ends at offset {header.last_offset}")

    def _section(self, pos: int, header: BatchHeader) -> _Section:
        start = pos + HEADER_SIZE
        records: Buffer = self.data[start : pos + header.size_bytes]
        if header.codec != Codec.NONE:
            limit_bytes = min(decompressed_limit(header.size_bytes), INT_MAX)
            try:
                records = decompress(header.codec, records, limit_bytes)
            except ProtocolError as error:
                raise self.flaw(header, f"cannot be decompressed ({error})") from None
        if not 0 <= header.count * MIN_RECORD_SIZE <= len(records):
            raise self.flaw(header, f"claims {header.count} records in {len(records)} bytes")
        return _Section(header, start, records)

    def flaw(self, header: BatchHeader, what: str) -> ProtocolError:
        """The error for a batch that is not what it should be."""
        return ProtocolError(
            f"the batch of {self._name} at offset {header.base_offset} {what}; "
            f"begin at offset {header.last_offset + 1} to pass over it"
        )


def _is_empty(header: BatchHeader) -> bool:
    """Compaction leaves a batch without records, for its last offset or sequence."""
    return header.count == 0 and header.size_bytes == HEADER_SIZE


def _plan(
    data: memoryview, sections: list[_Section]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """One buffer that holds all records, and the plan by which the loop finds them there."""
    positions = [section.pos for section in sections]
    if any(section.header.codec != Codec.NONE for section in sections):
        sizes = [0, *(len(section.records) for section in sections)]
        positions = np.cumsum(sizes[:-1]).tolist()
        data = memoryview(b"".join([section.records for section in sections]))
    plan = [
        (
            pos,
            pos + len(records),
            header.count,
            header.base_offset,
            header.last_offset_delta,
            header.max_timestamp if header.is_log_append_time else header.base_timestamp,
            0 if header.is_log_append_time else 1,
            1 if header.is_log_append_time else 0,
        )
        for pos, (header, _, records) in zip(positions, sections, strict=True)
    ]
    buffer = np.frombuffer(data, np.uint8)
    # Writable or not are two types to the compiler, and two compilations.
    buffer.flags.writeable = False
    return buffer, np.array(plan, np.int64)


def _columns(rows: int, size_bytes: int) -> Columns:
    # Memory that is never touched costs nothing: sizes are bounds, and nobody counts beforehand.
    return Columns(
        _binary(rows, size_bytes),
        _binary(rows, size_bytes),
        np.empty(rows, np.int64),
        np.empty(rows, np.int64),
        np.empty(rows, np.int32),
        np.empty(rows, np.int64),
    )


def _binary(rows: int, size_bytes: int) -> Binary:
    offsets = np.empty(rows + 1, np.int32)
    offsets[0] = 0
    return Binary(np.zeros((rows + 7) // 8, np.uint8), offsets, np.empty(size_bytes, np.uint8))


def _arrays(columns: Columns, rows: int, topic: str, partition: int) -> list[pa.Array]:
    return [
        _binary_array(columns.key, rows),
        _binary_array(columns.value, rows),
        pa.repeat(pa.scalar(topic, pa.string()), rows),
        pa.repeat(pa.scalar(partition, pa.int32()), rows),
        _fixed_array("offset", columns.offsets[:rows]),
        _fixed_array("timestamp", columns.timestamps[:rows]),
        _fixed_array("timestampType", columns.timestamp_types[:rows]),
    ]


def _binary_array(column: Binary, rows: int, *, has_nulls: bool = True) -> pa.Array:
    offsets = column.offsets[: rows + 1]
    validity = pa.py_buffer(column.validity[: (rows + 7) // 8]) if has_nulls else None
    buffers = [validity, pa.py_buffer(offsets), pa.py_buffer(column.data[: offsets[-1]])]
    return pa.Array.from_buffers(pa.binary(), rows, buffers)


def _fixed_array(name: str, values: NDArray[np.int64] | NDArray[np.int32]) -> pa.Array:
    return pa.Array.from_buffers(SCHEMA.field(name).type, len(values), [None, pa.py_buffer(values)])


def _headers(
    records: NDArray[np.uint8], positions: NDArray[np.int64], count: int, size_bytes: int
) -> pa.Array:
    """The headers of each row; null where a record has none, as in Spark's own connector."""
    rows = len(positions)
    if not count:
        return pa.nulls(rows, HEADERS)
    lists = _binary(rows, 0)
    columns = HeaderColumns(
        lists.validity, lists.offsets, _binary(count, size_bytes), _binary(count, size_bytes)
    )
    fill_headers(records, positions, columns)
    names = _names(_binary_array(columns.name, count, has_nulls=False))
    pairs = pa.Array.from_buffers(
        HEADERS.value_type,
        count,
        [None],
        children=[names, _binary_array(columns.value, count)],
    )
    buffers = [pa.py_buffer(lists.validity), pa.py_buffer(lists.offsets)]
    return pa.Array.from_buffers(HEADERS, rows, buffers, children=[pairs])


def _names(names: pa.Array) -> pa.Array:
    """As text; Java's clients put a replacement character where the bytes are not UTF-8."""
    try:
        return names.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([str(name, "utf-8", "replace") for name in names.to_pylist()], pa.string())


def warm() -> None:
    """Compile the loops, or load them from the cache."""
    batch = build_batch([Record(timestamp=0, key=b"key", headers=(("name", None),))])
    decode(batch, "topic", 0, 0, 1, None, headers=True)

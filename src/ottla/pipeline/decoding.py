"""What a fetch brought of a partition, decoded whole into one Arrow record batch.

Python runs once a batch, compiled loops once a record. Importing this module imports numba, which
takes part of a second: whoever only plans a read does not need it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ottla.base.units import INT_MAX, MiB
from ottla.pipeline.decoding_fetch import Fetch, Sections
from ottla.pipeline.decoding_loops import (
    COUNT,
    FULL,
    Binary,
    Columns,
    HeaderColumns,
    fill,
    fill_headers,
)
from ottla.protocol.records.batch import Buffer
from ottla.protocol.records.builder import build_batch
from ottla.protocol.records.record import Record

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

_ROW_BYTES = 64
"""What a row takes beside key, value and topic, at most."""


class Decoded(NamedTuple):
    """The rows of a fetch, None if there are none, and the offset to go on from.

    If that offset equals the one asked for, the fetch holds no whole batch from there on. Where rows
    were left out because of `limit_bytes`, decoding the same fetch from there on brings them.
    """

    batch: pa.RecordBatch | None
    next_offset: int


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
    fetch = Fetch(memoryview(data), f"{topic}-{partition}", start, end, check_crcs)
    limit_bytes = min(limit_bytes, INT_MAX)
    sections, next_offset = fetch.sections(aborted, limit_bytes)
    if not len(sections.table):
        return Decoded(None, next_offset)
    room = max(1, limit_bytes // (_ROW_BYTES + len(topic)))
    columns = _columns(min(int(sections.table[:, COUNT].sum()), room), sections.size_bytes)
    flaw, rows, header_count, after = fill(sections.data, sections.table, start, end, columns)
    if flaw >= 0:
        raise fetch.flaw(sections.table[flaw], "has records that do not end where they say")
    if flaw == FULL:
        next_offset = after
    if not rows:
        return Decoded(None, next_offset)
    arrays = _arrays(columns, rows, topic, partition)
    if not headers:
        return Decoded(pa.RecordBatch.from_arrays(arrays, schema=SCHEMA), next_offset)
    arrays.append(_headers(sections, columns.headers_pos[:rows], header_count))
    return Decoded(pa.RecordBatch.from_arrays(arrays, schema=SCHEMA_WITH_HEADERS), next_offset)


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


def _headers(sections: Sections, positions: NDArray[np.int64], count: int) -> pa.Array:
    """The headers of each row; null where a record has none, as in Spark's own connector."""
    rows = len(positions)
    if not count:
        return pa.nulls(rows, HEADERS)
    lists = _binary(rows, 0)
    names, values = _binary(count, sections.size_bytes), _binary(count, sections.size_bytes)
    columns = HeaderColumns(lists.validity, lists.offsets, names, values)
    fill_headers(sections.data, positions, columns)
    children = [
        _text(_binary_array(names, count, has_nulls=False)),
        _binary_array(values, count),
    ]
    pairs = pa.Array.from_buffers(HEADERS.value_type, count, [None], children=children)
    buffers = [pa.py_buffer(lists.validity), pa.py_buffer(lists.offsets)]
    return pa.Array.from_buffers(HEADERS, rows, buffers, children=[pairs])


def _text(names: pa.Array) -> pa.Array:
    """Names as text; Java's clients put a replacement character where the bytes are not UTF-8."""
    try:
        return names.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([str(name, "utf-8", "replace") for name in names.to_pylist()], pa.string())


def warm() -> None:
    """Compile the loops, or load them from the cache."""
    batch = build_batch([Record(timestamp=0, key=b"key", headers=(("name", None),))])
    decode(batch, "topic", 0, 0, 1, None, headers=True)

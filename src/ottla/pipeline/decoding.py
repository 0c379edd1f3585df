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
from ottla.pipeline.decoding_loops import Binary, Columns, HeaderColumns, fill, fill_headers
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
    """The records of one batch, decompressed, and where they begin in what was fetched."""

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
    """The records with start <= offset < end, as far as they fit `limit_bytes`; a torn last batch is ignored.

    `aborted` has producer id and first offset of the aborted transactions, None reads uncommitted.
    """
    view = memoryview(data)
    fetch = _Fetch(view, f"{topic}-{partition}", start, end, check_crcs)
    sections, next_offset = fetch.sections(Isolation(aborted), limit_bytes)
    if not sections:
        return Decoded(None, next_offset)
    records, plan = _plan(view, sections)
    row_bytes = _ROW_BYTES + len(topic)
    columns = _columns(min(int(plan[:, 2].sum()), max(1, limit_bytes // row_bytes)), len(records))
    flaw, rows, header_count, reached = fill(records, plan, start, end, columns)
    if flaw >= 0:
        raise fetch.flawed(sections[flaw].header, "has records that do not end where they say")
    ...

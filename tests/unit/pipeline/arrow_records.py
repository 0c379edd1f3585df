"""Arrow batches as records, and records as Arrow batches, a value at a time."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from ottla.protocol.records.record import Record, walk_records

PAIRS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def records_of(batch: pa.RecordBatch | None) -> list[Record]:
    """The rows of what was decoded."""
    if batch is None:
        return []
    batch.validate(full=True)
    microseconds = batch["timestamp"].cast(pa.int64()).to_pylist()
    headers = batch["headers"].to_pylist() if "headers" in batch.schema.names else []
    assert [] not in headers
    pairs = [tuple((pair["key"], pair["value"]) for pair in row or ()) for row in headers]
    return [
        Record(*fields)
        for fields in zip(
            batch["offset"].to_pylist(),
            [moment // 1000 for moment in microseconds],
            batch["key"].to_pylist(),
            batch["value"].to_pylist(),
            pairs or [()] * batch.num_rows,
            strict=True,
        )
    ]


def batch_of(records: Iterable[Record]) -> pa.RecordBatch:
    """The columns that a sink is given."""
    records = list(records)
    headers = [
        [{"key": name, "value": value} for name, value in record.headers] for record in records
    ]
    return pa.record_batch(
        {
            "key": pa.array([record.key for record in records], pa.binary()),
            "value": pa.array([record.value for record in records], pa.binary()),
            "headers": pa.array(headers, PAIRS),
            "timestamp": pa.array([record.timestamp for record in records], pa.timestamp("ms")),
        }
    )


def without(section: bytes, count: int, gone: set[int]) -> bytes:
    """A record section as compaction leaves it."""
    spans = walk_records(section, count)
    return b"".join(section[s.start : s.end] for n, s in enumerate(spans) if n not in gone)

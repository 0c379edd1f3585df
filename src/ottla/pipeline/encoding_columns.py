"""The buffers of Arrow columns as arrays that compiled loops read, without a copy where possible."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ottla.base.errors import OttlaError
from ottla.pipeline.encoding_loops import Binary, Blocks, Headers, encode_headers

_MAX_VARINT_BYTES = 5
_PAIRS = pa.list_(pa.struct([("key", pa.binary()), ("value", pa.binary())]))


def binary(column: pa.Array, name: str) -> Binary:
    """A column of bytes, or of text, which is UTF-8 already."""
    if column.type not in (pa.binary(), pa.string()):
        column = _cast(column, pa.binary(), name, "binary or string")
    validity, offsets, data = column.buffers()
    return Binary(
        _validity(column, validity),
        column.offset,
        _array(offsets, np.int32)[column.offset :],
        _array(data, np.uint8),
    )


def headers(column: pa.Array | None) -> Blocks:
    """A column of lists of name and value, encoded; no column is as good as empty lists only."""
    if column is None:
        return Blocks(_fixed(np.empty(0, np.int64)), _fixed(np.zeros(1, np.uint8)))
    column = _cast(column, _PAIRS, "headers", "array<struct<key: string, value: binary>>")
    pairs = column.values
    names, values = pairs.field("key"), pairs.field("value")
    if pairs.null_count or names.null_count:
        raise OttlaError("a header without a key: Kafka's headers need one; filter out the nulls")
    validity, offsets = column.buffers()[:2]
    lists = Headers(
        _validity(column, validity),
        column.offset,
        _array(offsets, np.int32)[column.offset :],
        binary(names, "headers.key"),
        binary(values, "headers.value"),
    )
    ends = np.empty(len(column), np.int64)
    most_bytes = names.nbytes + values.nbytes + _MAX_VARINT_BYTES * (len(column) + 2 * len(pairs))
    data = np.empty(most_bytes, np.uint8)
    encode_headers(lists, ends, data)
    return Blocks(_fixed(ends), _fixed(data))


def timestamps_ms(column: pa.Array | None, rows: int, now_ms: int) -> NDArray[np.int64]:
    """Milliseconds for each row, the present where there is none."""
    if column is None:
        times = np.full(rows, now_ms, np.int64)
    else:
        if not pa.types.is_timestamp(column.type):
            raise _wrong_type("timestamp", column.type, "timestamp")
        milliseconds = column.cast(pa.timestamp("ms", column.type.tz), safe=False).cast(pa.int64())
        times = pc.fill_null(milliseconds, now_ms).to_numpy(zero_copy_only=False)
    return _fixed(times)


def _cast(column: pa.Array, kind: pa.DataType, name: str, wanted: str) -> pa.Array:
    try:
        return column.cast(kind)
    except pa.ArrowNotImplementedError:
        raise _wrong_type(name, column.type, wanted) from None
    except pa.ArrowInvalid as error:
        raise OttlaError(
            f"the column {name!r} of {column.nbytes} bytes cannot be written at once: {error}; "
            "lower spark.sql.execution.arrow.maxRecordsPerBatch"
        ) from None


def _wrong_type(name: str, kind: pa.DataType, wanted: str) -> OttlaError:
    return OttlaError(f"the column {name!r} is of type {kind}; it must be {wanted}: cast it")


def _validity(column: pa.Array, buffer: pa.Buffer | None) -> NDArray[np.uint8]:
    return _array(buffer if column.null_count else None, np.uint8)


def _array(buffer: pa.Buffer | None, kind: Any) -> NDArray[Any]:
    return _fixed(np.empty(0, kind) if buffer is None else np.frombuffer(buffer, kind))


def _fixed(array: NDArray[Any]) -> NDArray[Any]:
    """The array, not writable: writable or not are two types to the compiler, and two compilations."""
    array.flags.writeable = False
    return array

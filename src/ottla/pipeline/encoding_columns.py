"""The buffers of Arrow columns as arrays that compiled loops can read, without a copy where possible."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as kinds
from numpy.typing import NDArray

from ottla.base.errors import OttlaError
from ottla.pipeline.encoding_loops import Binary, Headers

_PAIRS = pa.list_(pa.struct([("key", pa.binary()), ("value", pa.binary())]))


def binary(column: pa.Array, name: str) -> Binary:
    """A column of bytes or text; text is written as UTF-8, which it is already."""
    kind = column.type
    if not (kinds.is_binary(kind) or kinds.is_string(kind)):
        column = _cast(column, pa.binary(), name)
    validity, offsets, data = column.buffers()
    size = len(column) + 1
    return Binary(
        _validity(column, validity),
        column.offset,
        _array(offsets, np.int32)[column.offset : column.offset + size] if size > 1 else _NO_OFFSETS,
        _array(data, np.uint8),
    )

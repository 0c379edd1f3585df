"""The partition of each key of an Arrow column, as the Java client's default partitioner decides it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ottla.pipeline.encoding_columns import binary
from ottla.pipeline.encoding_loops import partition


def partitions(keys: pa.Array, count: int) -> NDArray[np.int32]:
    """A partition below `count` for each key, -1 where the key is null."""
    if count < 1:
        raise ValueError(f"a topic of {count} partitions")
    found = np.empty(len(keys), np.int32)
    partition(binary(keys, "key"), count, found)
    return found


def warm() -> None:
    """Compile the loop, or load it from the cache."""
    partitions(pa.array([b"key"]), 1)

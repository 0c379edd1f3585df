"""Which rows of an Arrow batch go to which partition: a partition named, else murmur2 of the key, else each in turn."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ottla.base.errors import OttlaError
from ottla.base.ids import TopicPartition
from ottla.base.units import MiB
from ottla.pipeline.murmur2 import partitions as partitions_of
from ottla.pipeline.sink_schema import SinkColumns

CHUNK_BYTES: Final = 4 * MiB
"""Rows are taken together until they are this large, so that each of several partitions gets a good batch."""

_NOWHERE: Final = -1
_MOST_SHORT: Final = 2**15 - 1

Rows: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]] | None"
"""Row numbers in their order; None for all rows."""


def chunks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of small batches in large ones."""
    waiting: list[pa.RecordBatch] = []
    size_bytes = 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            size_bytes += batch.nbytes
        if size_bytes >= CHUNK_BYTES:
            yield _joined(waiting)
            waiting, size_bytes = [], 0
    if waiting:
        yield _joined(waiting)


def prepared(batch: pa.RecordBatch, columns: SinkColumns) -> pa.RecordBatch:
    """The columns that are written."""
    names = ["value"]
    if columns.has_key:
        names.append("key")
    if columns.has_headers:
        names.append("headers")
    if columns.has_timestamp:
        names.append("timestamp")
    return batch.select(names)


class Router:
    """Knows where rows go; `count_of` tells how many partitions a topic has."""

    def __init__(
        self, columns: SinkColumns, count_of: Callable[[str], int], *, ignore_keys: bool = False
    ) -> None:
        self._columns = columns
        self._count_of = count_of
        self._by_key = columns.has_key and not ignore_keys
        # Tasks begin anywhere, so that small ones do not all write to the first partition.
        self._turn = random.randrange(1 << 16)

    def routes(
        self, batch: pa.RecordBatch, written: pa.RecordBatch
    ) -> Iterator[tuple[TopicPartition, Rows]]:
        """Each partition and its rows; `written` is what `prepared` made of the batch."""
        named = self._named(batch)
        keys = written.column("key") if self._by_key else None
        for topic, rows in self._by_topic(batch):
            count = self._count_of(topic)
            numbers = self._numbers(topic, count, keys, named, batch.num_rows, rows)
            for partition, found in _grouped(numbers, count):
                where = found if rows is None else rows if found is None else rows[found]
                yield TopicPartition(topic, partition), where

    def _by_topic(self, batch: pa.RecordBatch) -> Iterator[tuple[str, Rows]]:
        if self._columns.topic is not None:
            yield self._columns.topic, None
            return
        column = batch.column("topic")
        if column.null_count:
            raise OttlaError(
                f"{column.null_count} rows have no topic: fill the column topic, leave such rows out, "
                "or set option('topic', ...)"
            )
        encoded = column.dictionary_encode()
        topics = encoded.dictionary.to_pylist()
        if len(topics) == 1:
            yield topics[0], None
            return
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        for code, rows in _grouped(codes, len(topics)):
            yield topics[code], rows

    def _named(self, batch: pa.RecordBatch) -> np.ndarray[Any, Any] | None:
        if not self._columns.has_partition:
            return None
        column = batch.column("partition")
        if column.null_count == len(column):
            return None
        lowest = pc.min(column).as_py()
        if lowest < 0:
            raise OttlaError(
                f"the column partition has {lowest}, and partitions are numbered from 0; null has a row go by its key"
            )
        named: np.ndarray[Any, Any] = pc.fill_null(column, _NOWHERE).to_numpy(zero_copy_only=False)
        return named

    def _numbers(
        self,
        topic: str,
        count: int,
        keys: pa.Array | None,
        named: np.ndarray[Any, Any] | None,
        row_count: int,
        rows: Rows,
    ) -> np.ndarray[Any, Any]:
        """The partition of each row, or of each of `rows`."""
        size = row_count if rows is None else len(rows)
        if keys is None:
            numbers = np.full(size, _NOWHERE, np.int32)
        else:
            numbers = partitions_of(keys if rows is None else keys.take(pa.array(rows)), count)
        if named is not None:
            named = named if rows is None else named[rows]
            _check_named(topic, count, named)
            numbers = np.where(named == _NOWHERE, numbers, named)
        free = np.flatnonzero(numbers == _NOWHERE)
        if len(free):
            self._turn += 1
            share = -(-len(free) // count)
            numbers[free] = (self._turn + np.arange(len(free)) // share) % count
        return numbers


def _check_named(topic: str, count: int, named: np.ndarray[Any, Any]) -> None:
    if named.max() >= count:
        raise OttlaError(
            f"the column partition has {named.max()}, but topic {topic} has the partitions 0 to {count - 1}; "
            "leave the column out to have rows go by their keys"
        )


def _grouped(numbers: np.ndarray[Any, Any], count: int) -> Iterator[tuple[int, Rows]]:
    """The rows of each number below `count` that occurs, in their order."""
    sizes = np.bincount(numbers, minlength=count)
    present = np.flatnonzero(sizes)
    if len(present) == 1:
        yield int(present[0]), None
        return
    # Short integers are sorted by radix, several times as fast.
    short = numbers.astype(np.int16) if count <= _MOST_SHORT else numbers
    order = np.argsort(short, kind="stable")
    ends = np.cumsum(sizes)
    for number in present:
        yield int(number), order[ends[number] - sizes[number] : ends[number]]


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    [joined] = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return joined

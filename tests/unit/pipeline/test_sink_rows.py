"""Rows find their partitions: those of one key the same one, those without a key all of them."""

from collections import Counter
from itertools import chain

import numpy as np
import pyarrow as pa
import pytest

from ottla.base.errors import OttlaError
from ottla.client.partitioners import partition_for_key
from ottla.pipeline.sink_rows import CHUNK_BYTES, Router, chunks, prepared
from ottla.pipeline.sink_schema import SinkColumns

ALL = SinkColumns(topic=None, has_key=True, has_headers=False, has_partition=True)
KEYED = SinkColumns(topic="t", has_key=True, has_headers=False, has_partition=False)
BARE = SinkColumns(topic="t", has_key=False, has_headers=False, has_partition=False)


def routed(
    batch: pa.RecordBatch, columns: SinkColumns, count: int = 4
) -> dict[tuple[str, int], list[int]]:
    router = Router(columns, lambda topic: count)
    found: dict[tuple[str, int], list[int]] = {}
    for target, rows in router.routes(batch, prepared(batch, columns)):
        assert (target.topic, target.partition) not in found
        everything = range(batch.num_rows)
        found[target.topic, target.partition] = list(everything if rows is None else rows)
    assert sorted(chain(*found.values())) == list(range(batch.num_rows))
    return found


def frame(**columns: list[object]) -> pa.RecordBatch:
    types = {"partition": pa.int32(), "topic": pa.string()}
    arrays = {name: pa.array(each, types.get(name, pa.binary())) for name, each in columns.items()}
    return pa.RecordBatch.from_pydict(arrays)


def test_keys_go_where_every_kafka_client_sends_them() -> None:
    keys = [b"key-%d" % (n % 100) for n in range(1000)]
    found = routed(frame(key=keys, value=keys), KEYED, count=7)
    for (_, partition), rows in found.items():
        assert {partition_for_key(keys[row], 7) for row in rows} == {partition}
        assert rows == sorted(rows), "rows of a key keep their order"


def test_rows_without_a_key_are_spread_evenly() -> None:
    found = routed(frame(value=[b"v"] * 1000), BARE)
    assert Counter(map(len, found.values())) == {250: 4}
    sizes: Counter[int] = Counter()
    router, one = Router(BARE, lambda topic: 4), frame(value=[b"v"])
    for _ in range(40):
        for target, _rows in router.routes(one, prepared(one, BARE)):
            sizes[target.partition] += 1
    assert sizes == {0: 10, 1: 10, 2: 10, 3: 10}


def test_a_partition_that_is_named_wins_over_the_key() -> None:
    batch = frame(
        topic=["a"] * 4,
        key=[b"k", b"k", None, b"k"],
        value=[b"v"] * 4,
        partition=[3, None, 1, 0],
    )
    found = routed(batch, ALL)
    by_key = partition_for_key(b"k", 4)
    assert {(p, r) for (_, p), rows in found.items() for r in rows} == {
        (3, 0), (by_key, 1), (1, 2), (0, 3)
    }  # fmt: skip


def test_a_column_tells_the_topic_of_each_row() -> None:
    topics = ["a", "b", "a", "c", "b"]
    keys = [b"1", b"2", b"3", b"4", b"5"]
    batch = frame(topic=topics, key=keys, value=keys, partition=[None] * 5)
    found = routed(batch, ALL)
    for (topic, partition), rows in found.items():
        assert {topics[row] for row in rows} == {topic}
        assert {partition_for_key(keys[row], 4) for row in rows} == {partition}


def test_a_row_without_a_topic_is_refused() -> None:
    batch = frame(topic=["a", None], key=[b"", b""], value=[b"", b""], partition=[None, None])
    with pytest.raises(OttlaError, match="1 rows have no topic"):
        routed(batch, ALL)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (4, "has 4, but topic a has the partitions 0 to 3"),
        (-1, "has -1, and partitions are numbered from 0"),
        (-2, "has -2, and partitions are numbered from 0"),
    ],
)
def test_a_partition_that_is_not_there_is_refused(wrong: int, sentence: str) -> None:
    batch = frame(topic=["a"] * 2, key=[b""] * 2, value=[b""] * 2, partition=[None, wrong])
    with pytest.raises(OttlaError, match=sentence):
        routed(batch, ALL)


def test_keys_that_are_to_be_ignored_do_not_decide() -> None:
    batch = frame(key=[b"k"] * 1000, value=[b"v"] * 1000)
    router = Router(KEYED, lambda topic: 4, ignore_keys=True)
    sizes = [
        len(rows) for _, rows in router.routes(batch, prepared(batch, KEYED)) if rows is not None
    ]
    assert sizes == [250] * 4


def test_small_batches_become_large_ones() -> None:
    value = b"x" * (CHUNK_BYTES // 10)
    many = [frame(value=[value]), frame(value=[]), *[frame(value=[value])] * 24]
    sizes = [chunk.num_rows for chunk in chunks(many)]
    assert sum(sizes) == 25
    assert sizes == [10, 10, 5]
    assert list(chunks([frame(value=[])])) == []


def test_a_slice_is_routed_by_its_own_rows() -> None:
    keys = [b"%d" % n for n in range(20)]
    part = frame(key=keys, value=keys).slice(7, 6)
    found = routed(part, KEYED, count=3)
    for (_, partition), rows in found.items():
        assert {partition_for_key(keys[7 + row], 3) for row in rows} == {partition}
    assert np.sum([len(rows) for rows in found.values()]) == 6

"""Rows become record batches: byte for byte those that records one at a time would make."""

import os

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.base.errors import ApiError, OttlaError
from ottla.config.log import LogConfig
from ottla.pipeline import encoding_loops
from ottla.pipeline.decoding import decode
from ottla.pipeline.encoding import encode
from ottla.protocol.errors import ErrorCode
from ottla.protocol.records.batch import crc_of, parse_header
from ottla.protocol.records.builder import build_batch
from ottla.protocol.records.compression import Codec
from ottla.protocol.records.record import Record, read_records
from ottla.storage.validate import validate_produced
from tests.unit.pipeline.arrow_records import PAIRS, batch_of, records_of
from tests.unit.protocol.records.samples import NOW_MS, RECORDS, THREE_RECORDS, numbered

MiB = 2**20


def encoded(batch, rows=None, codec=Codec.NONE, max_bytes=MiB, **options) -> list[bytearray]:
    made = encode(batch, rows, codec, None, None, False, max_bytes, now_ms=NOW_MS, **options)
    assert all(parse_header(data).count == count for data, count in made)
    return [data for data, _ in made]


def written(batch, rows=None, **options) -> list[Record]:
    return [record for data in encoded(batch, rows, **options) for record in read_records(data)]


def values_of(column: pa.Array) -> list[bytes | None]:
    return [record.value for record in written(pa.record_batch({"value": column}))]


@given(RECORDS)
def test_a_batch_is_the_same_byte_for_byte(records):
    assert encoded(batch_of(records)) == [build_batch(records)]


@given(RECORDS, st.sampled_from(Codec), st.integers(62, 2_000))
def test_what_is_encoded_within_any_limit_can_be_decoded(records, codec, max_bytes):
    made = encoded(batch_of(records), codec=codec, max_bytes=max_bytes)
    found = []
    for data in made:
        found += records_of(decode(data, "t", 0, 0, 2**62, None, headers=True).batch)
        assert len(data) <= max_bytes or parse_header(data).count == 1
    assert [record[1:] for record in found] == [record[1:] for record in records]


@pytest.mark.parametrize("codec", Codec)
def test_a_broker_that_looks_at_every_record_takes_it(codec):
    batch = batch_of(numbered(THREE_RECORDS * 50))
    (data,) = encoded(batch, codec=codec)
    taken = validate_produced(memoryview(data), LogConfig(), NOW_MS, deep=True)
    assert taken.header.count == 150
    assert taken.header.codec == codec
    assert taken.header.crc == crc_of(data, 0, len(data))


def test_only_the_rows_asked_for_are_written_and_in_that_order():
    batch = batch_of(THREE_RECORDS)
    rows = np.array([2, 0, 2])
    assert [r.key for r in written(batch, rows)] == [b"tombstone", b"key", b"tombstone"]
    assert encoded(batch, np.array([], np.int64)) == []
    with pytest.raises(IndexError, match="rows 0 to 3 of a batch of 3"):
        encoded(batch, np.array([0, 3]))


def test_part_of_a_batch_is_written_as_itself():
    whole = batch_of(THREE_RECORDS * 5)
    part = whole.slice(4, 6)
    assert encoded(part) == [build_batch((THREE_RECORDS * 5)[4:10])]


def test_a_value_alone_is_enough():
    assert written(pa.record_batch({"value": pa.array([b"v", None])})) == [
        Record(0, NOW_MS, None, b"v"),
        Record(1, NOW_MS, None, None),
    ]


@pytest.mark.parametrize(
    "kind",
    [
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.binary(),
        pa.large_binary(),
        pa.binary_view(),
        pa.dictionary(pa.int32(), pa.string()),
    ],
    ids=str,
)
def test_text_and_bytes_of_every_arrow_type_are_written(kind):
    texts = ["naïve", None, "", "a text of more than twelve bytes"]
    column = pa.array(texts).cast(kind)
    expected = [None if text is None else text.encode() for text in texts]
    assert values_of(column) == expected
    assert values_of(column[1:]) == expected[1:]
    assert values_of(pa.nulls(2, pa.null())) == [None, None]


def test_headers_may_be_null_empty_or_part_of_a_larger_column():
    pairs = [{"key": "a", "value": b"1"}, {"key": "b", "value": None}]
    column = pa.array([[pairs[0]], None, [], pairs], PAIRS)
    batch = pa.record_batch({"value": pa.array([b"v"] * 4), "headers": column})
    expected = [(("a", b"1"),), (), (), (("a", b"1"), ("b", None))]
    assert [record.headers for record in written(batch)] == expected
    assert [record.headers for record in written(batch.slice(2))] == expected[2:]
    large = batch.set_column(1, "headers", column.cast(pa.large_list(PAIRS.value_type)))
    assert [record.headers for record in written(large)] == expected


def test_a_header_without_a_name_is_refused():
    column = pa.array([[{"key": None, "value": b"1"}]], PAIRS)
    batch = pa.record_batch({"value": pa.array([b"v"]), "headers": column})
    with pytest.raises(OttlaError, match="a header without a key"):
        encoded(batch)


@pytest.mark.parametrize(
    ("name", "kind"), [("value", "int64"), ("key", "int64"), ("timestamp", "int64")]
)
def test_a_column_of_another_type_is_refused_by_its_name(name, kind):
    columns = {"value": pa.array([b"v"]), name: pa.array([1])}
    with pytest.raises(OttlaError, match=f"the column '{name}' is of type {kind}"):
        encoded(pa.record_batch(columns))


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_timestamp_is_that_of_the_column_or_the_present(unit):
    moments = pa.array([NOW_MS - 5_000, None], pa.timestamp("ms", "UTC"))
    column = moments.cast(pa.timestamp(unit, "UTC"))
    batch = pa.record_batch({"value": pa.array([b"a", b"b"]), "timestamp": column})
    (data,) = encoded(batch)
    assert [r.timestamp for r in read_records(data)] == [NOW_MS - 5_000, NOW_MS]
    assert parse_header(data).max_timestamp == NOW_MS


def test_sequences_go_on_from_batch_to_batch_and_wrap():
    batch = pa.record_batch({"value": pa.array([bytes(100)] * 5)})
    made = encode(batch, None, 0, None, (7, 3, 2**31 - 3), True, 300, now_ms=NOW_MS)
    headers = [parse_header(data) for data, _ in made]
    assert [header.base_sequence for header in headers] == [2**31 - 3, 2**31 - 1, 1]
    assert {(h.producer_id, h.producer_epoch, h.is_transactional) for h in headers} == {
        (7, 3, True)
    }
    assert [header.last_offset_delta for header in headers] == [1, 1, 0]


def test_a_large_record_gets_a_batch_of_its_own_unless_nobody_would_take_it():
    batch = pa.record_batch({"value": pa.array([b"a", bytes(5_000), b"b"])})
    made = encoded(batch, max_bytes=1_000, max_record_bytes=6_000)
    assert [parse_header(data).count for data in made] == [1, 1, 1]
    with pytest.raises(ApiError, match=r"exceeds max.request.size=4000") as refused:
        encoded(batch, max_bytes=1_000, max_record_bytes=4_000)
    assert refused.value.code == ErrorCode.MESSAGE_TOO_LARGE


def test_what_does_not_compress_goes_as_it_is():
    batch = pa.record_batch({"value": pa.array([os.urandom(900)])})
    (data,) = encoded(batch, codec=Codec.GZIP, max_bytes=1_000)
    assert parse_header(data).codec == Codec.NONE
    assert len(data) <= 1_000


def test_every_kind_of_column_is_written_by_the_same_compilation():
    for column in (pa.array([b"v"]), pa.array(["v", None])[:1], pa.nulls(1)):
        encoded(pa.record_batch({"value": column}))
        encoded(pa.record_batch({"value": column, "timestamp": pa.array([0], pa.timestamp("us"))}))
    encoded(batch_of(THREE_RECORDS), np.array([1], np.int32))
    assert len(encoding_loops.pack.signatures) == 1

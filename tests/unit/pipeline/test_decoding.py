"""A fetch becomes one Arrow batch, equal to what the reader of records reads."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from ottla.base.errors import ProtocolError
from ottla.base.ids import TopicPartition
from ottla.client.consumer_record import Deserializers
from ottla.client.fetched import Fetched
from ottla.pipeline import decoding_loops
from ottla.pipeline.decoding import SCHEMA_WITH_HEADERS, Decoded, decode
from ottla.protocol.records.batch import HEADER_SIZE, parse_header
from ottla.protocol.records.builder import build_batch
from ottla.protocol.records.compression import Codec
from ottla.protocol.records.control import EndTransactionMarker, build_end_transaction_marker
from ottla.protocol.records.record import Record
from tests.unit.pipeline.arrow_records import records_of, without
from tests.unit.protocol.records.samples import NOW_MS, RECORDS, THREE_RECORDS, changed, numbered

ALL = 2**62


def read(data, start=0, end=ALL, aborted=None, **options) -> Decoded:
    return decode(data, "clicks", 3, start, end, aborted, headers=True, **options)


def values(data, start=0, end=ALL, aborted=None) -> list[bytes]:
    return [record.value for record in records_of(read(data, start, end, aborted).batch)]


def read_all(data, start: int, limit_bytes: int, aborted=None) -> list[list[Record]]:
    """What a task does: the same fetch again, until it brings nothing more."""
    parts = []
    while True:
        batch, after = read(data, start, aborted=aborted, limit_bytes=limit_bytes)
        if after == start:
            return parts
        parts.append(records_of(batch))
        start = after


@pytest.mark.parametrize("codec", Codec)
def test_a_batch_of_any_codec_becomes_rows(codec):
    batch, after = read(build_batch(THREE_RECORDS, base_offset=100, codec=codec))
    assert records_of(batch) == numbered(THREE_RECORDS, 100)
    assert after == 103
    assert set(batch["topic"].to_pylist()) == {"clicks"}
    assert set(batch["partition"].to_pylist()) == {3}
    assert set(batch["timestampType"].to_pylist()) == {0}


def test_the_types_are_those_that_spark_asks_for():
    batch = read(build_batch(THREE_RECORDS)).batch
    assert batch.schema == SCHEMA_WITH_HEADERS
    assert to_arrow_schema(from_arrow_schema(batch.schema), timezone="UTC") == batch.schema
    plain = decode(build_batch(THREE_RECORDS), "clicks", 3, 0, ALL, None, headers=False).batch
    assert plain.schema.names == batch.schema.names[:-1]


def test_a_record_without_headers_has_null_for_them():
    batch = read(build_batch(THREE_RECORDS)).batch
    assert batch["headers"].to_pylist()[1:] == [None, None]
    assert read(build_batch(THREE_RECORDS[1:])).batch["headers"].null_count == 2


@given(
    st.lists(st.tuples(RECORDS, st.sampled_from(Codec), st.integers(0, 5)), max_size=4),
    st.integers(0, 200),
    st.integers(0, 200),
)
def test_the_rows_are_the_records_of_the_range(batches, start, length):
    log, expected, offset = bytearray(), [], 0
    for records, codec, gap in batches:
        offset += gap
        log += build_batch(records, base_offset=offset, codec=codec)
        expected += numbered(records, offset)
        offset += len(records)
    end = start + length
    wanted = [record for record in expected if start <= record.offset < end]
    batch, after = read(log, start, end)
    assert records_of(batch) == wanted
    assert after >= min(max(start, offset), end)


def test_the_append_time_is_the_time_of_every_row():
    batch = read(build_batch(THREE_RECORDS, log_append_time_ms=NOW_MS + 500)).batch
    assert {record.timestamp for record in records_of(batch)} == {NOW_MS + 500}
    assert batch["timestampType"].to_pylist() == [1, 1, 1]


def test_compaction_leaves_gaps_and_empty_batches():
    whole = build_batch(THREE_RECORDS, base_offset=10)
    left = without(bytes(whole[HEADER_SIZE:]), 3, {1})
    compacted = changed(whole[:HEADER_SIZE] + left, count=2)
    empty = changed(build_batch(THREE_RECORDS)[:HEADER_SIZE], base_offset=13, count=0)
    batch, after = read(compacted + empty)
    assert batch["offset"].to_pylist() == [10, 12]
    assert after == 16
    assert read(empty) == Decoded(None, 16)


def transactional(offset: int, value: bytes, producer: int) -> bytearray:
    records = [Record(value=value)]
    return build_batch(records, base_offset=offset, producer_id=producer, transactional=True)


def marker(offset: int, producer: int, *, committed: bool) -> bytearray:
    end = EndTransactionMarker(committed, 0)
    return build_end_transaction_marker(
        end, producer_id=producer, producer_epoch=0, now_ms=0, base_offset=offset
    )


LOG = (
    build_batch([Record(value=b"plain")])
    + transactional(1, b"aborted", 7)
    + transactional(2, b"committed", 8)
    + marker(3, 7, committed=False)
    + transactional(4, b"later", 7)
    + marker(5, 8, committed=True)
    + marker(6, 7, committed=True)
)


def test_markers_are_never_rows_and_aborted_records_only_if_asked_for():
    assert values(LOG) == [b"plain", b"aborted", b"committed", b"later"]
    assert values(LOG, aborted=[(7, 1)]) == [b"plain", b"committed", b"later"]
    assert values(LOG, aborted=[]) == [b"plain", b"aborted", b"committed", b"later"]
    assert read(LOG).next_offset == 7


def test_a_transaction_aborted_before_the_range_leaves_its_producers_next_one_alone():
    assert values(LOG, start=2, aborted=[(7, 1)]) == [b"committed", b"later"]
    assert values(LOG, start=4, aborted=[(7, 1)]) == [b"later"]
    assert values(LOG, aborted=[(7, 4), (7, 1)]) == [b"plain", b"committed"]


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from("rrrca"))), st.integers(0, 12))
def test_a_reader_of_committed_records_sees_what_the_consumer_sees(steps, start):
    log, aborted, begun = bytearray(), [], {}
    for offset, (producer, step) in enumerate(steps):
        if step == "r":
            log += transactional(offset, b"%d" % offset, producer)
            begun.setdefault(producer, offset)
        else:
            log += marker(offset, producer, committed=step == "c")
            first = begun.pop(producer, None)
            if step == "a" and first is not None:
                aborted.append((producer, first))
    fetched, expected = Fetched(TopicPartition("t", 0), bytes(log), 0, aborted), []
    while fetched:
        expected += [
            r.value for r in fetched.take(0, Deserializers(), True).records if r.offset >= start
        ]
    for limit_bytes in (1, 10_000):
        parts = read_all(log, start, limit_bytes, aborted[::-1])
        assert [record.value for part in parts for record in part] == expected


def test_a_torn_last_batch_waits_for_the_next_fetch():
    first, second = build_batch(THREE_RECORDS), build_batch(THREE_RECORDS, base_offset=3)
    torn = (first + second)[:-1]
    assert read(torn).next_offset == 3
    assert read(torn, start=3) == Decoded(None, 3)
    assert read(b"") == Decoded(None, 0)


def test_an_end_within_a_fetch_is_reached_even_without_a_record_before_it():
    log = build_batch(THREE_RECORDS) + build_batch(THREE_RECORDS, base_offset=10)
    assert read(log, start=3, end=7) == Decoded(None, 7)
    assert read(log, start=0, end=2).next_offset >= 2


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
def test_a_limit_splits_a_fetch_between_and_within_batches(codec):
    batches = [build_batch(THREE_RECORDS, base_offset=n, codec=codec) for n in range(0, 30, 3)]
    log = b"".join(batches)
    expected = [record for n in range(0, 30, 3) for record in numbered(THREE_RECORDS, n)]
    for limit_bytes, parts in ((1, 30), (150, 15), (10_000, 1)):
        found = read_all(log, 0, limit_bytes)
        assert len(found) == parts
        assert [record for part in found for record in part] == expected


def test_names_of_headers_that_are_not_text_get_replacement_characters():
    batch = build_batch([Record(0, NOW_MS, b"k", b"v", (("abc", b"1"), ("ä", b"2")))])
    at = bytes(batch).index(b"abc")
    batch[at : at + 3] = b"a\xffc"
    batch = changed(batch)
    assert records_of(read(batch).batch)[0].headers == (("a\ufffdc", b"1"), ("ä", b"2"))


@pytest.mark.parametrize("timestamp", [-1, 0, 2**62, -(2**62), 2**63 - 1])
def test_no_timestamp_is_too_far_away(timestamp):
    batch = read(build_batch([Record(timestamp=timestamp)])).batch
    limit = (2**63 - 1) // 1000
    assert records_of(batch)[0].timestamp == max(-limit, min(timestamp, limit))
    overflowing = changed(
        build_batch([Record(timestamp=5), Record(timestamp=10)]), base_timestamp=2**63 - 1
    )
    assert records_of(read(overflowing).batch)[1].timestamp == limit


def test_a_changed_byte_fails_the_checksum_and_the_error_says_how_to_go_on():
    batch = build_batch(THREE_RECORDS, base_offset=100)
    batch[-1] ^= 1
    with pytest.raises(ProtocolError, match=r"clicks-3 at offset 100 fails its checksum.* 103 "):
        read(batch)
    assert read(batch, start=103) == Decoded(None, 103)


def test_a_checksum_is_ignored_on_request():
    batch = build_batch(THREE_RECORDS)
    batch[17] ^= 1
    assert records_of(read(batch, check_crcs=False).batch) == THREE_RECORDS


@pytest.mark.parametrize("magic", [0, 1])
def test_messages_of_before_format_2_are_named_as_such(magic):
    old = bytearray(40)
    old[16] = magic
    with pytest.raises(ProtocolError, match=f"clicks-3 holds messages of format {magic}"):
        read(old)


def test_bytes_that_are_no_batch_are_refused():
    with pytest.raises(ProtocolError, match="clicks-3 is broken: no batch at position 0"):
        read(os.urandom(16) + b"\x07" + bytes(100))


@pytest.mark.parametrize(
    "fields",
    [
        {"count": 2},
        {"count": 4},
        {"count": 0},
        {"count": -1},
        {"count": 2**31 - 1},
        {"last_offset_delta": 1},
        {"last_offset_delta": -1},
        {"base_offset": -5},
        {"base_offset": 2**63 - 2},
        {"attributes": 4},
        {"attributes": 7},
    ],
)
def test_a_header_that_lies_is_refused(fields):
    batch = changed(build_batch(THREE_RECORDS, base_offset=1), **fields)
    with pytest.raises(ProtocolError, match="the batch of clicks-3 at offset"):
        read(batch, start=-(2**62), end=2**63 - 1)


def test_every_kind_of_buffer_is_read_by_the_same_compilation():
    batch = build_batch(THREE_RECORDS)
    for data in (batch, bytes(batch), memoryview(batch), memoryview(b"x" + batch)[1:]):
        assert records_of(read(data).batch) == THREE_RECORDS
    assert len(decoding_loops.fill.signatures) == 1
    assert len(decoding_loops.fill_headers.signatures) == 1
    assert parse_header(batch).count == 3


def test_a_batch_outlives_what_it_was_decoded_from():
    data = bytearray(build_batch(THREE_RECORDS))
    batch = read(data).batch
    data[:] = bytes(len(data))
    assert records_of(batch) == THREE_RECORDS

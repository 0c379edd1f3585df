"""The records inside a batch: read, walked, searched by time, and refused when they lie."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.base.errors import ProtocolError
from ottla.protocol.records.batch import parse_header
from ottla.protocol.records.builder import build_batch, encode_records
from ottla.protocol.records.compression import Codec
from ottla.protocol.records.record import (
    Record,
    decompressed_limit,
    first_record_at_or_after,
    max_timestamp_record,
    read_records,
    record_section,
    walk_records,
)
from tests.unit.protocol.records.samples import (
    NOW_MS,
    RECORDS,
    THREE_RECORDS,
    changed,
    numbered,
)

SECTION = bytes(encode_records(THREE_RECORDS, NOW_MS))


def walked(section: bytes, count: int) -> list[int]:
    return [span.offset_delta for span in walk_records(section, count)]


@pytest.mark.parametrize("codec", Codec)
def test_records_are_read_from_anywhere_in_a_buffer(codec):
    log = b"before" + build_batch(THREE_RECORDS, base_offset=100, codec=codec) + b"after"
    assert read_records(log, 6) == numbered(THREE_RECORDS, 100)


def test_the_append_time_is_the_time_of_every_record():
    batch = build_batch(THREE_RECORDS, log_append_time_ms=NOW_MS + 500)
    assert {record.timestamp for record in read_records(batch)} == {NOW_MS + 500}


@given(RECORDS, st.sampled_from(Codec), st.integers(min_value=0, max_value=2**60))
def test_what_is_built_is_what_is_read(records, codec, base_offset):
    batch = build_batch(records, codec=codec, base_offset=base_offset)
    assert read_records(batch) == numbered(records, base_offset)


def test_a_walk_tells_where_keys_and_values_lie():
    first, second, third = walk_records(SECTION, 3)
    assert SECTION[first.key_pos :][: first.key_size] == b"key"
    assert SECTION[first.value_pos :][: first.value_size] == b"value"
    assert (second.key_size, third.value_size) == (-1, -1)
    assert [span.timestamp_delta for span in (first, second, third)] == [0, 5, -5]
    assert (first.end, second.end, third.end) == (second.start, third.start, len(SECTION))


def test_a_batch_that_compaction_emptied_has_no_records():
    assert read_records(build_batch([])) == []


@pytest.mark.parametrize("count", [2, 4, -1, 2**31 - 1])
def test_a_count_that_lies_is_noticed(count):
    with pytest.raises(ProtocolError):
        walked(SECTION, count)


@pytest.mark.parametrize("cut", range(1, len(SECTION)))
def test_torn_records_are_noticed(cut):
    with pytest.raises(ProtocolError):
        walked(SECTION[:cut], 3)


ONE = bytes(encode_records([Record(key=b"k", value=b"v", headers=(("h", b"x"),))], -1))


@pytest.mark.parametrize(
    ("pos", "byte", "what"),
    [
        (0, 0x02, "record length too small"),
        (0, 0x7E, "record length beyond the section"),
        (0, 0x01, "negative record length"),
        (4, 0x05, "key size -3"),
        (4, 0x7E, "key beyond the section"),
        (6, 0x05, "value size -3"),
        (8, 0x01, "negative header count"),
        (8, 0x7E, "more headers than could fit"),
        (9, 0x01, "negative header name size"),
        (11, 0x05, "header value size -3"),
    ],
)
def test_a_record_that_contradicts_itself_is_refused(pos, byte, what):
    section = bytearray(ONE)
    section[pos] = byte
    with pytest.raises(ProtocolError):
        walked(section, 1)


@pytest.mark.parametrize("digits", [b"\xff" * 5 + b"\x01", b"\xff" * 4 + b"\x7f", b"\xff" * 70])
def test_an_endless_varint_is_refused(digits):
    with pytest.raises(ProtocolError):
        walked(digits + bytes(20), 1)


def test_compressed_records_may_not_grow_without_bounds():
    assert decompressed_limit(100) == 64 * 2**20
    assert decompressed_limit(100 * 2**20) == 800 * 2**20
    batch = build_batch([Record(value=bytes(65 * 2**20))], codec=Codec.ZSTD)
    with pytest.raises(ProtocolError, match="would exceed"):
        read_records(batch)


def test_the_first_record_of_a_time_is_found():
    batch = build_batch(THREE_RECORDS, base_offset=10, codec=Codec.LZ4)
    assert first_record_at_or_after(batch, NOW_MS - 9) == (10, NOW_MS)
    assert first_record_at_or_after(batch, NOW_MS + 1) == (11, NOW_MS + 5)
    assert first_record_at_or_after(batch, NOW_MS + 6) is None
    assert first_record_at_or_after(batch, NOW_MS - 9, from_offset=12) == (12, NOW_MS - 5)


def test_a_batch_of_one_append_time_is_found_at_its_first_record():
    batch = build_batch(THREE_RECORDS, base_offset=10, log_append_time_ms=NOW_MS + 50)
    assert first_record_at_or_after(batch, NOW_MS + 50) == (10, NOW_MS + 50)
    assert first_record_at_or_after(batch, NOW_MS + 51) is None


def test_the_first_of_the_youngest_records_is_found():
    twice = [*THREE_RECORDS, Record(timestamp=NOW_MS + 5)]
    assert max_timestamp_record(build_batch(twice, base_offset=10)) == (11, NOW_MS + 5)
    assert max_timestamp_record(build_batch([])) is None


@given(st.data(), RECORDS, st.sampled_from(Codec))
def test_damaged_batches_are_read_or_refused(data, records, codec):
    batch = build_batch(records, codec=codec)
    for pos in data.draw(st.lists(st.integers(61, len(batch) - 1), min_size=1, max_size=5)):
        batch[pos] = data.draw(st.integers(0, 255))
    header = parse_header(batch)
    try:
        section = record_section(batch, header)
        spans = list(walk_records(section, header.count))
        assert [span.start for span in spans[1:]] == [span.end for span in spans[:-1]]
        read_records(batch)
    except ProtocolError:
        pass


@given(st.binary(max_size=200), st.integers(-5, 50))
def test_any_bytes_are_walked_or_refused(section, count):
    with suppress(ProtocolError):
        assert len(walked(section, count)) == count


def test_header_names_that_are_no_utf8_do_not_stop_a_reader():
    section = bytes(encode_records([Record(headers=(("ab", b""),))], -1)).replace(
        b"ab", b"\xff\xfe"
    )
    batch = changed(build_batch([Record()])[:61] + section, count=1)
    assert read_records(batch)[0].headers == (("��", b""),)

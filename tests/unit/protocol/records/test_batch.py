"""Batch headers: read, walked and patched in place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatch

from ottla.base.errors import ProtocolError
from ottla.protocol.records.batch import (
    HEADER_SIZE,
    crc_of,
    iter_headers,
    parse_header,
    patch_offset_and_epoch,
    patch_producer,
    patch_timestamps,
)
from ottla.protocol.records.builder import build_batch
from tests.unit.protocol.records.samples import NOW_MS, THREE_RECORDS, changed, poked

BATCH = build_batch(
    THREE_RECORDS,
    base_offset=40,
    leader_epoch=7,
    producer_id=9000,
    producer_epoch=3,
    base_sequence=12,
    transactional=True,
)


def test_a_header_tells_what_the_batch_holds():
    header = parse_header(BATCH)
    assert (header.base_offset, header.last_offset, header.count) == (40, 42, 3)
    assert (header.leader_epoch, header.magic) == (7, 2)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (9000, 3, 12)
    assert (header.base_timestamp, header.max_timestamp) == (NOW_MS, NOW_MS + 5)
    assert header.size_bytes == len(BATCH)
    assert header.last_sequence == 14
    assert header.crc == crc_of(BATCH, 0, len(BATCH))


def test_attributes_are_told_apart():
    assert parse_header(BATCH).is_transactional
    assert not parse_header(BATCH).is_control
    header = parse_header(changed(BATCH, attributes=0b110_1011))
    assert header.codec == 3
    assert header.is_log_append_time
    assert header.is_control
    assert header.has_delete_horizon
    assert not header.is_transactional


def test_sequences_wrap_and_may_be_absent():
    assert parse_header(changed(BATCH, base_sequence=2**31 - 2)).last_sequence == 0
    assert parse_header(changed(BATCH, base_sequence=-1)).last_sequence == -1


def test_a_header_agrees_with_kafka_pythons():
    theirs = DefaultRecordBatch(BATCH)
    ours = parse_header(BATCH)
    assert theirs.validate_crc()
    assert theirs.last_sequence == ours.last_sequence
    assert theirs.size_in_bytes == ours.size_bytes
    assert theirs.last_offset == ours.last_offset


def test_a_torn_header_is_refused():
    with pytest.raises(ProtocolError, match="61 bytes, but 60 are left"):
        parse_header(BATCH[:60])


def test_whole_batches_are_walked_and_a_torn_one_is_left_out():
    two_and_a_half = bytes(BATCH) * 2 + bytes(BATCH[:70])
    assert [pos for pos, _ in iter_headers(two_and_a_half)] == [0, len(BATCH)]
    assert [pos for pos, _ in iter_headers(two_and_a_half, len(BATCH))] == [len(BATCH)]
    assert [pos for pos, _ in iter_headers(two_and_a_half, 0, len(BATCH) + 3)] == [0]


@pytest.mark.parametrize("length", [0, -1, -(2**31), HEADER_SIZE - 13])
def test_a_length_that_cannot_be_ends_the_walk(length):
    with pytest.raises(ProtocolError, match="no batch at position 0"):
        list(iter_headers(poked(BATCH, 8, ">i", length)))


def test_another_format_ends_the_walk():
    with pytest.raises(ProtocolError, match="magic 1"):
        list(iter_headers(poked(BATCH, 16, ">b", 1)))


def test_place_and_epoch_are_patched_without_touching_the_crc():
    log = memoryview(bytearray(b"before" + BATCH))
    patch_offset_and_epoch(log, 6, 2**40, 99)
    header = parse_header(log, 6)
    assert (header.base_offset, header.leader_epoch) == (2**40, 99)
    assert header.crc == crc_of(log, 6, len(BATCH)) == parse_header(BATCH).crc


@pytest.mark.parametrize("log_append_time", [True, False])
def test_patched_timestamps_have_a_crc_that_others_accept(log_append_time):
    log = bytearray(b"before" + changed(BATCH, attributes=0x18))
    patch_timestamps(log, 6, len(BATCH), NOW_MS + 77, log_append_time=log_append_time)
    header = parse_header(log, 6)
    assert header.is_log_append_time is log_append_time
    assert header.is_transactional
    assert header.max_timestamp == NOW_MS + 77
    assert DefaultRecordBatch(log[6:]).validate_crc()


def test_a_patched_producer_has_a_crc_that_others_accept():
    log = bytearray(b"before" + BATCH)
    patch_producer(log, 6, len(BATCH), 77, 5, 1234)
    header = parse_header(log, 6)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (77, 5, 1234)
    assert header.is_transactional
    assert DefaultRecordBatch(log[6:]).validate_crc()


@given(st.binary(max_size=400))
def test_no_bytes_make_the_walk_fail_otherwise(data):
    try:
        for pos, header in iter_headers(data):
            assert 0 <= pos < pos + header.size_bytes <= len(data)
    except ProtocolError:
        pass

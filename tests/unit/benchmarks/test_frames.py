"""Frames encoded by hand mean what other people's decoders read in them."""

import struct

from aiokafka.record.default_records import DefaultRecordBatch
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.frames import batch, fetched, next_offset, produce_error, produce_request

HEADER_BYTES = 4 + 2 + 2 + 4 + 2 + 5


@given(st.lists(st.binary(max_size=200), min_size=1, max_size=200))
def test_another_decoder_reads_the_values_back(values: list[bytes]) -> None:
    read = DefaultRecordBatch(bytearray(batch(values)))

    assert read.validate_crc()
    assert [record.value for record in read] == values


def test_a_produce_request_announces_its_own_length_and_carries_the_batch() -> None:
    records = batch([b"x"])
    frame = produce_request("events", 3, records)

    assert struct.unpack_from(">i", frame) == (len(frame) - 4,)
    assert struct.unpack_from(">hhi", frame, HEADER_BYTES) == (-1, 1, 30_000)
    assert frame.endswith(struct.pack(">ii", 3, len(records)) + records)


def test_the_error_code_is_found_in_a_produce_reply() -> None:
    partition = struct.pack(">ihqqq", 0, 87, -1, -1, -1)
    topics = struct.pack(">ih", 1, 6) + b"events" + struct.pack(">i", 1) + partition
    body = struct.pack(">i", 1) + topics + struct.pack(">i", 0)

    assert produce_error("events", struct.pack(">i", len(body)) + body) == 87


def test_the_records_are_found_in_a_fetch_reply() -> None:
    records = batch([b"x", b"y"])
    partition = struct.pack(">ihqqii", 0, 0, 2, 2, -1, len(records)) + records
    topics = struct.pack(">ih", 1, 6) + b"events" + struct.pack(">i", 1) + partition
    body = struct.pack(">ii", 1, 0) + topics
    reply = memoryview(struct.pack(">i", len(body)) + body)

    error, position, size = fetched("events", reply)

    assert error == 0
    assert reply[position : position + size] == records


def test_a_reader_goes_on_after_the_last_whole_batch() -> None:
    first = struct.pack(">q", 10) + batch([b"a", b"b"])[8:]
    second = struct.pack(">q", 12) + batch([b"c"])[8:]

    assert next_offset(memoryview(first + second), 10) == 13
    assert next_offset(memoryview(first + second[:-1]), 10) == 12
    assert next_offset(memoryview(b""), 10) == 10

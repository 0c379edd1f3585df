"""Records written one by one are what the protocol's own reader reads."""

from hypothesis import given
from hypothesis import strategies as st

from ottla.base.ids import TopicPartition
from ottla.client.partition_queue import Batch, Identity
from ottla.client.record_encoder import RecordEncoder, record_size, varint
from ottla.protocol.records.batch import crc_of, parse_header
from ottla.protocol.records.builder import encode_records
from ottla.protocol.records.compression import Codec
from ottla.protocol.records.record import Record, read_records

maybe_bytes = st.none() | st.binary(max_size=200)
records = st.builds(
    Record,
    timestamp=st.integers(0, 2**45),
    key=maybe_bytes,
    value=maybe_bytes | st.integers(0, 20_000).map(bytes),
    headers=st.lists(st.tuples(st.text(max_size=70), maybe_bytes), max_size=3).map(tuple),
)


def encoded(written: list[Record], limit_bytes: int = 1 << 20) -> RecordEncoder:
    encoder = RecordEncoder(limit_bytes)
    for record in written:
        assert encoder.append(record.key, record.value, record.headers, record.timestamp)
    return encoder


@given(st.lists(records, min_size=1, max_size=20))
def test_the_section_is_what_the_builder_builds(written: list[Record]) -> None:
    encoder = encoded(written)
    assert encoder.section() == bytes(encode_records(written, written[0].timestamp))
    assert encoder.size_bytes == 61 + len(encoder.section())


@given(st.lists(records, min_size=1, max_size=5))
def test_a_record_is_never_larger_than_its_estimate(written: list[Record]) -> None:
    for record in written:
        assert encoded([record]).size_bytes <= record_size(record.key, record.value, record.headers)


def test_a_batch_of_many_records_counts_beyond_two_bytes() -> None:
    encoder = encoded([Record(value=b"", timestamp=5)] * 20_000, 1 << 24)
    batch = Batch(TopicPartition("t", 0), 0, 0, 0, None)
    batch.encoder = encoder
    assert [r.offset for r in read_records(batch.encode(0, None))] == list(range(20_000))


def test_a_full_batch_takes_no_more_but_an_empty_one_takes_anything() -> None:
    encoder = RecordEncoder(500)
    assert encoder.append(None, bytes(1000), (), 1)
    assert not encoder.append(None, b"", (), 1)
    assert encoder.count == 1


def test_headers_count_towards_the_limit() -> None:
    encoder = RecordEncoder(500)
    assert encoder.append(None, b"small", (), 1)
    assert not encoder.append(None, b"small", [("name", bytes(450))], 1)


def test_timestamps_may_go_backwards() -> None:
    encoder = encoded([Record(timestamp=1000), Record(timestamp=500), Record(timestamp=2000)])
    assert (encoder.base_timestamp, encoder.max_timestamp) == (1000, 2000)


@given(st.integers(-(2**40), 2**40))
def test_varints_are_those_of_the_builder(value: int) -> None:
    section = encode_records([Record(timestamp=value)], 0)
    assert varint(value) in bytes(section)


def test_a_batch_on_the_wire_carries_its_identity_and_a_true_checksum() -> None:
    batch = Batch(TopicPartition("t", 0), 0, 1 << 20, 0, None)
    batch.encoder.append(b"k", b"v" * 300, (), 77)
    batch.transactional = True
    batch.claim(Identity(9, 3), 12)
    wire = batch.encode(Codec.ZSTD, 3)
    header = parse_header(wire)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (9, 3, 12)
    assert header.is_transactional
    assert header.crc == crc_of(wire, 0, len(wire))
    assert read_records(wire)[0].value == b"v" * 300

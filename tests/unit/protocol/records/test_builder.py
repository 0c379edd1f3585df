"""Built batches, judged by the decoders of other clients, and theirs by ours."""

import pytest
from aiokafka.record.default_records import DefaultRecordBatch as AioBatch
from aiokafka.record.default_records import DefaultRecordBatchBuilder as AioBuilder
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from kio.records.readers import read_batch

from ottla.protocol.records.batch import crc_of, parse_header
from ottla.protocol.records.builder import build_batch
from ottla.protocol.records.compression import Codec
from ottla.protocol.records.record import Record, read_records
from tests.unit.protocol.records.samples import NOW_MS, RECORDS, THREE_RECORDS, numbered


def as_ours(record) -> Record:
    headers = tuple((name, value) for name, value in record.headers)
    return Record(record.offset, record.timestamp, record.key, record.value, headers)


@given(RECORDS, st.sampled_from(Codec))
def test_kafka_python_reads_what_we_build(records, codec):
    batch = DefaultRecordBatch(build_batch(records, codec=codec, base_offset=1000))
    assert batch.validate_crc()
    assert [as_ours(record) for record in batch] == numbered(records, 1000)


@given(RECORDS, st.sampled_from(Codec))
def test_aiokafka_reads_what_we_build(records, codec):
    batch = AioBatch(bytes(build_batch(records, codec=codec, base_offset=1000)))
    assert batch.validate_crc()
    assert [as_ours(record) for record in batch] == numbered(records, 1000)


def test_kio_reads_what_we_build():
    built = bytes(build_batch(THREE_RECORDS, base_offset=7, producer_id=4))
    batch, size = read_batch(built, 0)
    assert (size, batch.base_offset, batch.producer_id) == (len(built), 7, 4)
    assert [record.value for record in batch.records] == [b"value", b"no key", None]


@pytest.mark.parametrize("builder", [DefaultRecordBatchBuilder, AioBuilder])
@pytest.mark.parametrize("codec", Codec)
def test_we_read_what_others_build(builder, codec):
    theirs = builder(
        magic=2,
        compression_type=codec,
        is_transactional=True,
        producer_id=77,
        producer_epoch=2,
        base_sequence=5,
        batch_size=2**20,
    )
    # They leave out compression that gains nothing.
    records = [*THREE_RECORDS, Record(3, NOW_MS, b"large", bytes(1000))]
    for n, (_, timestamp, key, value, headers) in enumerate(records):
        theirs.append(n, timestamp, key, value, list(headers))
    batch = bytes(theirs.build())
    header = parse_header(batch)
    assert header.crc == crc_of(batch, 0, len(batch))
    assert (header.codec, header.producer_id, header.last_sequence) == (codec, 77, 8)
    assert header.is_transactional
    assert read_records(batch) == records


def test_the_flags_asked_for_are_set():
    control = parse_header(build_batch([Record()], control=True, transactional=True))
    assert control.is_control
    assert control.is_transactional
    plain = parse_header(build_batch([Record()]))
    assert plain.attributes == 0
    assert (plain.producer_id, plain.producer_epoch, plain.base_sequence) == (-1, -1, -1)


def test_an_empty_batch_keeps_no_offsets():
    header = parse_header(build_batch([], base_offset=9))
    assert (header.count, header.last_offset_delta, header.max_timestamp) == (0, -1, -1)


def test_a_level_makes_a_difference():
    text = Record(value=b"".join(b"user %d did something else, " % (n % 97) for n in range(5000)))
    fast, small = (build_batch([text], codec=Codec.ZSTD, level=level) for level in (-5, 19))
    assert len(small) < len(fast)
    assert read_records(small) == read_records(fast)

"""Batches that lie: what is decoded equals what the reader of records reads, or is refused, and nothing else."""

import random
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from ottla.base.errors import ProtocolError
from ottla.client.record_encoder import varint
from ottla.pipeline.decoding import decode
from ottla.protocol.records.batch import (
    HEADER_SIZE,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    iter_headers,
    pack_batch,
    parse_header,
)
from ottla.protocol.records.builder import build_batch, encode_records
from ottla.protocol.records.compression import Codec, compress
from ottla.protocol.records.record import Record, read_records
from tests.unit.pipeline.arrow_records import records_of
from tests.unit.protocol.records.samples import NOW_MS, RECORDS, THREE_RECORDS

BEGINNING, ALL = 0, 2**63 - 1
LONGEST_MS = ALL // 1000
WHOLE = parse_header(build_batch(THREE_RECORDS))
SECTION = bytes(encode_records(THREE_RECORDS, NOW_MS))
VARINTS = [b"\x00", b"\x01", b"\x02", b"\x7f", b"\xfe\xff\xff\xff\x0f", b"\xff\xff\xff\xff\x0f"]
VARINTS += [b"\xff\xff\xff\xff\x1f", b"\x80" * 9 + b"\x01", b"\xff" * 9 + b"\x01", b"\xff" * 10]


def decoded(data: bytes) -> list[Record] | None:
    """The rows, or None where decoding refuses."""
    try:
        return records_of(decode(data, "t", 0, BEGINNING, ALL, None, headers=True).batch)
    except ProtocolError:
        return None


def expected(data: bytes) -> list[Record] | None:
    """What the reader of records makes of the same bytes, record by record."""
    found: list[Record] = []
    try:
        for pos, header in iter_headers(data):
            if not header.is_control:
                found += in_order(header, read_records(data, pos))
    except ProtocolError:
        return None
    return [record._replace(timestamp=within(record.timestamp)) for record in found]


def in_order(header: BatchHeader, records: list[Record]) -> list[Record]:
    """Offsets that repeat, or leave their batch, would be read twice by whoever goes on behind it."""
    offsets = [header.base_offset - 1, *(record.offset for record in records)]
    ascending = all(a < b for a, b in pairwise(offsets))
    if not ascending or offsets[-1] > header.last_offset or header.last_offset_delta < 0:
        raise ProtocolError("offsets out of order")
    return records


def within(timestamp: int) -> int:
    return max(-LONGEST_MS, min(timestamp, LONGEST_MS))


def check(section: bytes, count: int, codec: Codec = Codec.NONE, last_delta: int = 2) -> None:
    header = WHOLE._replace(attributes=codec, count=count, last_offset_delta=last_delta)
    data = bytes(pack_batch(header, compress(codec, section)))
    assert decoded(data) == expected(data)


@given(RECORDS, st.sampled_from(Codec), st.data())
def test_records_with_a_few_bytes_changed(records, codec, data):
    section = bytearray(encode_records(records, NOW_MS))
    for _ in range(data.draw(st.integers(1, 3))):
        section[data.draw(st.integers(0, len(section) - 1))] = data.draw(st.integers(0, 255))
    check(bytes(section), len(records), codec, len(records) - 1)


@given(st.binary(max_size=300), st.integers(-1, 50))
@example(b"\x0c\x00\x00\x00\x01\x01\x00", 1)
def test_bytes_that_never_were_records(section, count):
    check(section, count)


@given(st.integers(0, len(SECTION)), st.sampled_from(VARINTS), st.integers(0, 3))
def test_lengths_that_reach_out_of_the_batch(pos, length, replaced):
    check(SECTION[:pos] + length + SECTION[pos + replaced :], 3)


@given(st.lists(st.sampled_from(VARINTS), min_size=4, max_size=12))
def test_a_record_of_nothing_but_extreme_numbers(varints):
    body = b"\x00" + b"".join(varints)
    check(varint(len(body)) + body, 1)


@given(st.integers(21, HEADER_SIZE - 1), st.integers(0, 255))
def test_a_header_with_one_byte_changed(pos, byte):
    data = bytearray(build_batch(THREE_RECORDS))
    data[pos] = byte
    data = pack_batch(parse_header(data), data[HEADER_SIZE:])
    header = parse_header(data)
    if header.is_control or header.attributes & TRANSACTIONAL_FLAG:
        return
    assert decoded(bytes(data)) == expected(bytes(data))


@given(st.binary(max_size=400))
def test_bytes_that_never_were_a_batch(data):
    assert decoded(data) == (None if len(data) > 16 and data[16] < 2 else expected(data))


def test_thousands_of_broken_batches_are_refused_or_read_alike():
    chance = random.Random(20)
    headers = tuple((f"name {n}", bytes(n)) for n in range(4))
    records = [
        Record(n, NOW_MS + n * 1000, bytes(n), bytes(n * 7), headers[: n % 5]) for n in range(20)
    ]
    whole = encode_records(records, NOW_MS)
    for _ in range(3_000):
        section = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            at, size = chance.randrange(len(section)), chance.randint(0, 3)
            section[at : at + size] = chance.choice([b"", chance.choice(VARINTS), b"\xff"])
        check(bytes(section), chance.choice([20, 20, 20, 19, 21]), last_delta=19)

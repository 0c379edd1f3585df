"""A consumer's quick decoder reads what the protocol's careful one reads."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.client.consumer_record import ConsumerRecord, Deserializers, read_batch
from ottla.client.errors import UnreadableRecord
from ottla.protocol.records.batch import pack_batch, parse_header
from ottla.protocol.records.builder import build_batch, encode_records
from ottla.protocol.records.record import Record

maybe_bytes = st.none() | st.binary(max_size=150) | st.integers(0, 20_000).map(bytes)
records = st.builds(
    Record,
    timestamp=st.integers(0, 2**45),
    key=maybe_bytes,
    value=maybe_bytes,
    headers=st.lists(st.tuples(st.text(max_size=70), maybe_bytes), max_size=3).map(tuple),
)


def read(batch: bytes, from_offset: int = 0, **by: object) -> list[ConsumerRecord]:
    header = parse_header(batch)
    records, failure = read_batch(batch, 0, header, "t", 3, from_offset, Deserializers(**by))  # type: ignore[arg-type]
    assert failure is None
    return records


@given(st.lists(records, max_size=70), st.sampled_from(range(5)))
def test_what_was_built_is_read(written: list[Record], codec: int) -> None:
    batch = bytes(build_batch(written, base_offset=1000, codec=codec, leader_epoch=4))
    assert [(r.timestamp, r.key, r.value, r.headers) for r in read(batch)] == [
        (r.timestamp, r.key, r.value, r.headers) for r in written
    ]
    assert [r.offset for r in read(batch)] == [1000 + n for n in range(len(written))]
    assert all((r.topic, r.partition, r.leader_epoch) == ("t", 3, 4) for r in read(batch))


def test_offsets_beyond_two_bytes_are_read() -> None:
    batch = bytes(build_batch([Record(timestamp=1, value=b"")] * 20_000))
    assert [record.offset for record in read(batch)] == list(range(20_000))


def test_reading_begins_at_an_offset_inside_a_batch() -> None:
    batch = bytes(build_batch([Record(value=b"%d" % n) for n in range(9)], base_offset=10))
    assert [record.value for record in read(batch, from_offset=17)] == [b"7", b"8"]


def test_the_time_of_the_append_counts_where_the_topic_says_so() -> None:
    batch = bytes(build_batch([Record(timestamp=5), Record(timestamp=6)], log_append_time_ms=99))
    assert [(r.timestamp, r.timestamp_type) for r in read(batch)] == [(99, 1), (99, 1)]


def test_deserializers_are_not_asked_about_null() -> None:
    batch = bytes(build_batch([Record(key=b"1", value=None), Record(key=None, value=b"2")]))
    found = read(batch, key=int, value=float)
    assert [(r.key, r.value) for r in found] == [(1, None), (None, 2.0)]


@given(st.binary(max_size=60), st.integers(1, 5))
def test_garbage_is_refused_and_never_crashes(section: bytes, count: int) -> None:
    batch = bytearray(build_batch([Record(value=b"x" * 60)] * count))
    batch[61 : 61 + len(section)] = section
    with suppress(UnreadableRecord):
        read(bytes(batch))


def test_a_section_that_ends_early_is_refused() -> None:
    batch = bytes(build_batch([Record(value=b"x" * 60)]))
    header = parse_header(batch)
    with pytest.raises(UnreadableRecord, match=r"t-3 at offset 0 cannot be read"):
        read_batch(batch[:70], 0, header, "t", 3, 0, Deserializers())


def test_gaps_that_compaction_left_are_kept() -> None:
    section = encode_records([Record(value=b"a"), Record(value=b"b"), Record(value=b"c")], 0)
    size = len(section) // 3
    full = parse_header(build_batch([Record(value=b"a")] * 3, base_offset=50))
    batch = pack_batch(full._replace(count=2), section[:size] + section[2 * size :])
    assert [(r.offset, r.value) for r in read(bytes(batch))] == [(50, b"a"), (52, b"c")]

"""What is left of a batch keeps its place, its sequences and its codec."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.protocol.records.batch import (
    HEADER_SIZE,
    BatchHeader,
    crc_of,
    parse_header,
    patch_offset_and_epoch,
    patch_timestamps,
)
from ottla.protocol.records.builder import build_batch
from ottla.protocol.records.compression import Codec
from ottla.protocol.records.record import Record, read_records, record_section
from ottla.storage.compacted_batch import empty_batch, stamped_batch, thinned_batch
from ottla.storage.dirty_keys import ALIVE, DEAD, TOMBSTONE
from tests.unit.storage.samples import NOW_MS

records = st.lists(
    st.builds(
        Record,
        timestamp=st.integers(NOW_MS - 1000, NOW_MS + (1 << 34)),
        key=st.binary(max_size=5),
        value=st.none() | st.binary(max_size=10) | st.just(b"x" * 9000),
        headers=st.sampled_from([(), (("name", b"value"),)]),
    ),
    min_size=1,
    max_size=8,
)
states = st.lists(st.sampled_from([ALIVE, DEAD, TOMBSTONE]), min_size=8, max_size=8)
SAME = ("base_offset", "leader_epoch", "last_offset_delta", "producer_id", "producer_epoch")
SAME += ("base_sequence", "codec", "is_transactional", "is_log_append_time")


def batch_of(batch: list[Record], codec: int = 0) -> tuple[BatchHeader, bytes]:
    data = build_batch(batch, codec=codec, producer_id=7, producer_epoch=2, base_sequence=40)
    patch_offset_and_epoch(data, 0, 1000, 5)
    return parse_header(data), bytes(data)


def section_of(header: BatchHeader, batch: bytes) -> tuple[bytes, int]:
    if header.codec == Codec.NONE:
        return batch, HEADER_SIZE
    return bytes(record_section(batch, header)), 0


def survivors(batch: bytes, fates: bytes) -> list[Record]:
    pairs = zip(read_records(batch), fates, strict=True)
    return [record for record, state in pairs if state != DEAD]


def check(new: bytearray, old: BatchHeader, expected: list[Record]) -> None:
    header = parse_header(new)
    assert header.size_bytes == len(new)
    assert header.crc == crc_of(new, 0, len(new))
    assert [getattr(header, name) for name in SAME] == [getattr(old, name) for name in SAME]
    assert header.max_timestamp == max(record.timestamp for record in expected)
    assert read_records(new) == expected


@given(records, states, st.sampled_from(Codec))
def test_the_records_that_are_left_are_as_they_were(
    batch: list[Record], fates: list[int], codec: Codec
) -> None:
    header, data = batch_of(batch, codec)
    chosen = bytes([ALIVE, *fates][: len(batch)])
    check(thinned_batch(header, *section_of(header, data), chosen), header, survivors(data, chosen))


@given(records, states, st.sampled_from(Codec), st.integers(NOW_MS, NOW_MS * 2))
def test_a_delete_horizon_moves_no_timestamp(
    batch: list[Record], fates: list[int], codec: Codec, horizon_ms: int
) -> None:
    header, data = batch_of(batch, codec)
    chosen = bytes([TOMBSTONE, *fates][: len(batch)])
    stamped = stamped_batch(header, *section_of(header, data), chosen, horizon_ms)
    check(stamped, header, survivors(data, chosen))
    found = parse_header(stamped)
    assert found.has_delete_horizon
    assert found.base_timestamp == horizon_ms


@pytest.mark.parametrize("horizon_ms", [None, NOW_MS + 5])
def test_log_append_time_stays(horizon_ms: int | None) -> None:
    _, data = batch_of([Record(0, 5, b"a", b"1"), Record(1, 9, b"b", None)])
    appended = bytearray(data)
    patch_timestamps(appended, 0, len(appended), NOW_MS, log_append_time=True)
    header = parse_header(appended)
    section = bytes(appended), HEADER_SIZE, bytes([DEAD, TOMBSTONE])
    if horizon_ms is None:
        new = thinned_batch(header, *section)
    else:
        new = stamped_batch(header, *section, horizon_ms)
    assert parse_header(new).max_timestamp == NOW_MS
    assert [record.timestamp for record in read_records(new)] == [NOW_MS]


def test_an_empty_batch_keeps_offsets_and_sequence() -> None:
    header, _ = batch_of([Record(n, NOW_MS, b"k", b"v") for n in range(3)], Codec.ZSTD)
    empty = empty_batch(header)
    found = parse_header(empty)
    assert len(empty) == HEADER_SIZE
    assert found.crc == crc_of(empty, 0, len(empty))
    assert (found.base_offset, found.last_offset, found.last_sequence) == (1000, 1002, 42)
    assert (found.count, found.codec, found.max_timestamp) == (0, Codec.NONE, -1)
    assert read_records(empty) == []

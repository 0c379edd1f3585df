"""Which records are the last of their keys, and how keys are found in a batch."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.base.errors import ProtocolError
from ottla.protocol.records.batch import HEADER_SIZE
from ottla.protocol.records.builder import build_batch
from ottla.protocol.records.record import Record
from ottla.storage.dirty_keys import ALIVE, DEAD, TOMBSTONE, DirtyKeys, scan_keys

keys = st.none() | st.binary(max_size=3) | st.binary(min_size=30, max_size=70)
values = st.none() | st.binary(max_size=2) | st.just(b"v" * 9000)
records = st.lists(st.builds(Record, timestamp=st.integers(0, 1 << 40), key=keys, value=values))


def batch_of(*pairs: tuple[bytes | None, bytes | None]) -> tuple[bytes, int, int]:
    batch = build_batch([Record(0, 0, key, value) for key, value in pairs])
    return bytes(batch), HEADER_SIZE, len(pairs)


@given(records)
def test_every_key_null_and_tombstone_is_found(batch: list[Record]) -> None:
    data = bytes(build_batch(batch))
    found = scan_keys(data, HEADER_SIZE, len(batch))
    assert len(found.keys) == len(batch)
    assert found.nulls == [n for n, record in enumerate(batch) if record.key is None]
    assert found.tombstones == [n for n, record in enumerate(batch) if record.value is None]
    same = {(a, b): x == y for a, x in enumerate(found.keys) for b, y in enumerate(found.keys)}
    assert same == {
        (a, b): x.key == y.key for a, x in enumerate(batch) for b, y in enumerate(batch)
    }


@given(records, st.data())
def test_a_batch_that_lies_is_refused(batch: list[Record], data: st.DataObject) -> None:
    whole = bytes(build_batch(batch))
    cut = data.draw(st.integers(HEADER_SIZE, len(whole)))
    if cut < len(whole):
        with pytest.raises(ProtocolError):
            scan_keys(whole[:cut], HEADER_SIZE, len(batch))
    with pytest.raises(ProtocolError):
        scan_keys(whole, HEADER_SIZE, len(batch) + 1)


def test_later_records_shadow_earlier_ones_in_and_across_batches() -> None:
    noted = DirtyKeys()
    noted.note(*batch_of((b"a", b"1"), (b"b", b"1"), (b"a", b"2"), (b"c", b"1")))
    noted.note(*batch_of((b"b", b"2"), (b"c", None)))
    assert [*noted.states(1, 6)] == [DEAD, DEAD, ALIVE, DEAD, ALIVE, TOMBSTONE]
    assert len(noted) == 3


def test_records_without_key_go() -> None:
    noted = DirtyKeys()
    noted.note(*batch_of((None, b"1"), (b"a", b"1"), (None, None)))
    assert [*noted.states(1, 3)] == [DEAD, ALIVE, DEAD]
    assert [*noted.judge(*batch_of((None, b"1"), (b"b", b"1")))] == [DEAD, ALIVE]


def test_the_clean_part_is_judged_by_the_keys_of_the_dirty_one() -> None:
    noted = DirtyKeys()
    noted.note(*batch_of((b"a", b"1"), (b"long" * 50, b"1")))
    judged = noted.judge(*batch_of((b"a", None), (b"b", None), (b"c", b"1"), (b"long" * 50, b"0")))
    assert [*judged] == [DEAD, TOMBSTONE, ALIVE, DEAD]


def test_memory_is_counted() -> None:
    noted = DirtyKeys()
    pairs = [(b"key-%06d" % n, b"") for n in range(10_000)]
    noted.note(*batch_of(*pairs))
    assert 100 * 10_000 < noted.memory_bytes < 200 * 10_000

"""What a fetch brought: batch by batch, markers and aborted transactions left out."""

import pytest

from ottla.base.ids import TopicPartition
from ottla.client.consumer_record import Deserializers
from ottla.client.errors import UnreadableRecord
from ottla.client.fetched import Fetched
from ottla.protocol.records.builder import build_batch
from ottla.protocol.records.control import EndTransactionMarker, build_end_transaction_marker
from ottla.protocol.records.record import Record

TARGET = TopicPartition("t", 0)


def batch(offset: int, *values: bytes, producer: int = -1) -> bytearray:
    return build_batch(
        [Record(value=value) for value in values],
        base_offset=offset,
        producer_id=producer,
        transactional=producer >= 0,
    )


def marker(offset: int, producer: int, *, committed: bool) -> bytearray:
    end = EndTransactionMarker(committed, 0)
    return build_end_transaction_marker(
        end, producer_id=producer, producer_epoch=0, now_ms=0, base_offset=offset
    )


def values(fetched: Fetched, from_offset: int = 0) -> list[bytes]:
    found: list[bytes] = []
    while fetched:
        taken = fetched.take(from_offset, Deserializers(), True)
        from_offset = taken.end_offset
        found += [record.value for record in taken.records]
    return found


LOG = (
    batch(0, b"plain")
    + batch(1, b"aborted", producer=7)
    + batch(2, b"committed", producer=8)
    + marker(3, 7, committed=False)
    + batch(4, b"later", producer=7)
    + marker(5, 8, committed=True)
    + marker(6, 7, committed=True)
)


def test_everything_but_markers_is_read() -> None:
    assert values(Fetched(TARGET, LOG, 0)) == [b"plain", b"aborted", b"committed", b"later"]


def test_only_committed_transactions_are_read() -> None:
    fetched = Fetched(TARGET, LOG, 0, aborted=[(7, 1)])
    assert values(fetched) == [b"plain", b"committed", b"later"]


def test_the_end_lies_behind_the_last_batch_even_if_that_is_a_marker() -> None:
    fetched = Fetched(TARGET, LOG, 0)
    assert fetched.end_offset == 7
    while fetched:
        after = fetched.take(0, Deserializers(), True).end_offset
    assert after == 7


def test_a_batch_cut_off_by_the_limit_is_left_for_the_next_fetch() -> None:
    fetched = Fetched(TARGET, (batch(0, b"a") + batch(1, b"b"))[:-3], 0)
    assert (fetched.end_offset, values(fetched)) == (1, [b"a"])


def test_batches_before_the_position_are_passed_over() -> None:
    fetched = Fetched(TARGET, batch(0, b"a", b"b") + batch(2, b"c"), 2)
    assert fetched.take(2, Deserializers(), True)[:2] == ([], 2)
    assert values(fetched, 2) == [b"c"]


def test_a_false_checksum_is_told_with_a_way_on() -> None:
    broken = batch(5, b"value")
    broken[-2] ^= 1
    taken = Fetched(TARGET, broken, 0).take(0, Deserializers(), True)
    assert (taken.records, taken.end_offset) == ([], 5)
    with pytest.raises(
        UnreadableRecord, match=r"t-0 at offset 5 fails its checksum; seek to offset 6"
    ):
        raise taken.failure or AssertionError

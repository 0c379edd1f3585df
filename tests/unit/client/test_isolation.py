"""What a reader of committed records must not see, batch by batch."""

from ottla.client.isolation import Isolation
from ottla.protocol.records.batch import iter_headers
from ottla.protocol.records.builder import build_batch
from ottla.protocol.records.control import EndTransactionMarker, build_end_transaction_marker
from ottla.protocol.records.record import Record


def batch(offset: int, producer: int = -1) -> bytearray:
    return build_batch(
        [Record(value=b"v")],
        base_offset=offset,
        producer_id=producer,
        transactional=producer >= 0,
    )


def marker(offset: int, producer: int, *, committed: bool) -> bytearray:
    end = EndTransactionMarker(committed, 0)
    return build_end_transaction_marker(
        end, producer_id=producer, producer_epoch=0, now_ms=0, base_offset=offset
    )


def hidden(log: bytes, aborted: list[tuple[int, int]] | None) -> list[int]:
    isolation = Isolation(aborted)
    return [h.base_offset for pos, h in iter_headers(log) if isolation.hides(log, pos, h)]


def test_markers_are_always_hidden_and_aborted_batches_until_their_marker() -> None:
    log = bytes(
        batch(0)
        + batch(1, 7)
        + batch(2, 8)
        + marker(3, 7, committed=False)
        + batch(4, 7)
        + marker(5, 8, committed=True)
    )
    assert hidden(log, None) == [3, 5]
    assert hidden(log, []) == [3, 5]
    assert hidden(log, [(7, 1)]) == [1, 3, 5]


def test_the_order_of_the_aborted_transactions_does_not_matter() -> None:
    log = bytes(
        batch(0, 7)
        + marker(1, 7, committed=False)
        + batch(2, 7)
        + marker(3, 7, committed=True)
        + batch(4, 7)
        + marker(5, 7, committed=False)
    )
    assert hidden(log, [(7, 4), (7, 0)]) == [0, 1, 3, 4, 5]


def test_records_outside_of_transactions_are_seen_even_from_a_producer_that_aborts() -> None:
    plain = build_batch([Record(value=b"v")], base_offset=1, producer_id=7)
    log = bytes(batch(0, 7) + plain + marker(2, 7, committed=False))
    assert hidden(log, [(7, 0)]) == [0, 2]

"""Producers: order, retries, epochs, transactions, snapshots."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.base.errors import ApiError, CorruptLog
from ottla.protocol.errors import ErrorCode
from ottla.protocol.records.batch import BatchHeader, parse_header
from ottla.protocol.records.control import EndTransactionMarker
from ottla.storage.producer_state import CompletedTxn, Duplicate, ProducerState
from tests.unit.storage.samples import NOW_MS, make_batch, make_marker

MAX_SEQUENCE = 2**31 - 1
COMMIT = EndTransactionMarker(True, 0)
ABORT = EndTransactionMarker(False, 0)


def header(sequence: int = 0, count: int = 1, *, pid: int = 7, epoch: int = 0) -> BatchHeader:
    return parse_header(make_batch(count, producer_id=pid, epoch=epoch, sequence=sequence))


def in_txn(sequence: int = 0, *, pid: int = 7) -> BatchHeader:
    return parse_header(make_batch(1, producer_id=pid, sequence=sequence, transactional=True))


def accept(state: ProducerState, batch: BatchHeader, offset: int, now_ms: int = NOW_MS) -> None:
    assert state.check(batch) is None
    state.update(batch, offset, now_ms)


def refused(state: ProducerState, batch: BatchHeader) -> int:
    with pytest.raises(ApiError) as raised:
        state.check(batch)
    return raised.value.code


def test_an_unknown_producer_may_start_with_any_sequence() -> None:
    accept(ProducerState(), header(12_345), 0)


def test_a_gap_is_refused() -> None:
    state = ProducerState()
    accept(state, header(0, 10), 0)
    accept(state, header(10, 10), 10)
    assert refused(state, header(21)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_each_of_the_last_five_batches_is_recognised_when_sent_again() -> None:
    state = ProducerState()
    for n in range(6):
        accept(state, header(10 * n, 10), 100 * n)
    for n in range(1, 6):
        assert state.check(header(10 * n, 10)) == Duplicate(100 * n, 100 * n + 9)
    assert refused(state, header(0, 10)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert refused(state, header(50, 9)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_sequences_wrap_to_zero() -> None:
    state = ProducerState()
    accept(state, header(MAX_SEQUENCE - 1, 2), 0)
    accept(state, header(0, 5), 2)
    accept(state, header(5), 7)
    assert state.check(header(MAX_SEQUENCE - 1, 2)) == Duplicate(0, 1)


def test_a_batch_may_wrap_inside() -> None:
    state = ProducerState()
    accept(state, header(MAX_SEQUENCE - 1, 4), 0)
    accept(state, header(2), 4)
    assert state.check(header(MAX_SEQUENCE - 1, 4)) == Duplicate(0, 3)


def test_a_new_epoch_starts_at_zero_and_fences_the_old_one() -> None:
    state = ProducerState()
    accept(state, header(0, 10), 0)
    assert refused(state, header(10, epoch=1)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    accept(state, header(0, epoch=1), 10)
    assert refused(state, header(10)) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert state.check(header(0, epoch=1)) == Duplicate(10, 10)


def test_batches_without_sequence_are_checked_by_epoch_only() -> None:
    state = ProducerState()
    accept(state, header(0, epoch=3), 0)
    assert state.check(header(0, epoch=3)._replace(base_sequence=-1)) is None


def test_silent_producers_expire_by_the_brokers_clock() -> None:
    state = ProducerState()
    accept(state, header(pid=1), 0, now_ms=NOW_MS)
    accept(state, header(pid=2), 1, now_ms=NOW_MS + 500)
    accept(state, in_txn(pid=3), 2, now_ms=NOW_MS)
    assert state.expire(NOW_MS + 1000, 1000) == 1
    assert [pid in state for pid in (1, 2, 3)] == [False, True, True]
    accept(state, header(99, pid=1), 3)


def test_an_open_transaction_holds_the_stable_offset_back() -> None:
    state = ProducerState()
    assert state.first_unstable_offset(0) is None
    accept(state, in_txn(pid=1), 5)
    accept(state, in_txn(pid=2), 6)
    assert state.first_unstable_offset(10) == 5
    marker = parse_header(make_marker(1, commit=True))
    assert state.update(marker, 7, NOW_MS, COMMIT) == CompletedTxn(1, 5, 7, False)
    assert state.first_unstable_offset(7) == 5, "the marker is not below the high watermark"
    assert state.first_unstable_offset(8) == 6


def test_a_transaction_is_open_at_one_epoch_alone() -> None:
    state = ProducerState()
    assert not state.in_transaction(7, 0)
    accept(state, header(), 0)
    assert not state.in_transaction(7, 0)
    accept(state, in_txn(1), 1)
    assert state.in_transaction(7, 0)
    assert not state.in_transaction(7, 1)
    assert not state.in_transaction(8, 0)


def test_an_aborted_transaction_knows_the_stable_offset_after_it() -> None:
    state = ProducerState()
    accept(state, in_txn(pid=1), 5)
    accept(state, in_txn(pid=2), 6)
    done = state.update(parse_header(make_marker(1, commit=False)), 7, NOW_MS, ABORT)
    assert done == CompletedTxn(1, 5, 7, True)
    assert state.last_stable_offset(done) == 6


@pytest.mark.parametrize("restarts", [False, True])
def test_sequences_of_an_aborted_transaction_are_not_mistaken_for_retries(restarts: bool) -> None:
    state = ProducerState()
    accept(state, in_txn(0), 0)
    accept(state, in_txn(1), 1)
    state.update(parse_header(make_marker(7, commit=False)), 2, NOW_MS, ABORT)
    if restarts:
        state = ProducerState.decode_snapshot(state.encode_snapshot())
        state.recall(in_txn(0)._replace(base_offset=0))
    for reused in (in_txn(0), in_txn(1)):
        assert refused(state, reused) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    accept(state, in_txn(2), 3)
    assert state.check(in_txn(2)) == Duplicate(3, 3)


def test_a_plain_batch_inside_a_transaction_is_refused() -> None:
    state = ProducerState()
    accept(state, in_txn(0), 0)
    assert refused(state, header(1)) == ErrorCode.INVALID_TXN_STATE
    accept(state, in_txn(1), 1)


def test_markers_of_old_epochs_and_old_coordinators_are_refused() -> None:
    state = ProducerState()
    accept(state, header(0, epoch=5), 0)
    with pytest.raises(ApiError) as stale:
        state.check(parse_header(make_marker(7, 4, commit=True)), COMMIT)
    assert stale.value.code == ErrorCode.INVALID_PRODUCER_EPOCH
    state.update(
        parse_header(make_marker(7, 5, commit=True)),
        1,
        NOW_MS,
        COMMIT._replace(coordinator_epoch=3),
    )
    with pytest.raises(ApiError) as fenced:
        state.check(parse_header(make_marker(7, 5, commit=True)), COMMIT)
    assert fenced.value.code == ErrorCode.TRANSACTION_COORDINATOR_FENCED


def test_a_marker_with_a_new_epoch_starts_the_sequence_anew() -> None:
    state = ProducerState()
    accept(state, in_txn(0), 0)
    state.update(parse_header(make_marker(7, 1, commit=True)), 1, NOW_MS, COMMIT)
    accept(state, header(0, epoch=1), 2)


def test_a_snapshot_keeps_the_last_batch_and_open_transactions() -> None:
    state = ProducerState()
    accept(state, header(0, 10, pid=1), 0)
    accept(state, in_txn(pid=2), 10)
    accept(state, header(10, 5, pid=1), 11)
    loaded = ProducerState.decode_snapshot(state.encode_snapshot())
    assert list(loaded.entries()) == list(state.entries())
    assert loaded.first_unstable_offset(99) == 10
    assert loaded.check(header(10, 5, pid=1)) == Duplicate(11, 15)


def test_recall_refills_the_window_that_a_snapshot_lacks() -> None:
    state = ProducerState()
    batches = [(header(10 * n, 10), 10 * n) for n in range(7)]
    for batch, offset in batches:
        accept(state, batch, offset)
    loaded = ProducerState.decode_snapshot(state.encode_snapshot())
    for batch, offset in batches:
        loaded.recall(batch._replace(base_offset=offset))
    assert loaded.recent_batches(7) == state.recent_batches(7)


@pytest.mark.parametrize("damage", [0, 3, 7, 12, -1])
def test_a_damaged_snapshot_is_refused(damage: int) -> None:
    state = ProducerState()
    accept(state, header(), 0)
    data = bytearray(state.encode_snapshot())
    data[damage] ^= 0x40
    with pytest.raises(CorruptLog):
        ProducerState.decode_snapshot(bytes(data))


@pytest.mark.parametrize("size", [0, 9, 20])
def test_a_short_snapshot_is_refused(size: int) -> None:
    state = ProducerState()
    accept(state, header(), 0)
    with pytest.raises(CorruptLog):
        ProducerState.decode_snapshot(state.encode_snapshot()[:size])


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 4), st.booleans()), max_size=60))
def test_rows_agree_with_a_plain_model(steps: list[tuple[int, int, bool]]) -> None:
    state = ProducerState()
    model: dict[int, list[tuple[int, int, int]]] = {}
    offset = 0
    for pid, count, forget in steps:
        if forget:
            state.expire(NOW_MS, 0)
            model.clear()
        batches = model.setdefault(pid, [])
        sequence = batches[0][0] + 1 if batches else 0
        accept(state, header(sequence, count, pid=pid), offset)
        batches.insert(0, (sequence + count - 1, offset + count - 1, count - 1))
        del batches[5:]
        offset += count
    assert {pid: state.recent_batches(pid) for pid in model} == model
    assert len(state) == len(model)

"""The rules of EndTxn, state by state: who is answered, who is fenced, and whose retry is recognised."""

from typing import Any

import pytest

from ottla.coordination.transactions.state import MAX_EPOCH, Producer, State
from ottla.protocol.errors import ErrorCode
from tests.unit.coordination.transactions.desk import TV1, TV2, A, Desk

FENCED = ErrorCode.PRODUCER_FENCED
WRONG = ErrorCode.INVALID_TXN_STATE
WAIT = ErrorCode.CONCURRENT_TRANSACTIONS
SAME, BUMP = "as answered before", "bump"


def before(producer: Producer) -> Producer:
    """The producer as it was before its epoch was bumped: who sends it sends a retry."""
    return Producer(producer.producer_id, producer.epoch - 1)


def in_state(state: State, version: int = TV2) -> tuple[Desk, Producer]:
    """A coordinator in a state, and its current producer."""
    desk = Desk()
    producer = desk.init()
    producer = desk.init(producer)
    if state is State.EMPTY:
        return desk, producer
    desk.add(producer, A, version=version)
    if state is State.ONGOING:
        return desk, producer
    if state in (State.PREPARE_COMMIT, State.PREPARE_ABORT):
        desk.hold_markers()
    committed = state in (State.PREPARE_COMMIT, State.COMPLETE_COMMIT)
    producer = (desk.commit if committed else desk.abort)(producer, version)
    assert desk.state is state
    return desk, producer


@pytest.mark.parametrize(
    ("state", "committed", "retry", "expected"),
    [
        (State.EMPTY, False, True, FENCED),
        (State.EMPTY, False, False, BUMP),
        (State.EMPTY, True, True, FENCED),
        (State.EMPTY, True, False, WRONG),
        (State.ONGOING, False, True, FENCED),
        (State.ONGOING, False, False, BUMP),
        (State.ONGOING, True, True, FENCED),
        (State.ONGOING, True, False, BUMP),
        (State.PREPARE_COMMIT, False, True, WRONG),
        (State.PREPARE_COMMIT, False, False, FENCED),
        (State.PREPARE_COMMIT, True, True, WAIT),
        (State.PREPARE_COMMIT, True, False, FENCED),
        (State.PREPARE_ABORT, False, True, WAIT),
        (State.PREPARE_ABORT, False, False, FENCED),
        (State.PREPARE_ABORT, True, True, FENCED),
        (State.PREPARE_ABORT, True, False, FENCED),
        (State.COMPLETE_ABORT, False, True, SAME),
        (State.COMPLETE_ABORT, False, False, BUMP),
        (State.COMPLETE_ABORT, True, True, FENCED),
        (State.COMPLETE_ABORT, True, False, WRONG),
        (State.COMPLETE_COMMIT, False, True, WRONG),
        (State.COMPLETE_COMMIT, False, False, BUMP),
        (State.COMPLETE_COMMIT, True, True, SAME),
        (State.COMPLETE_COMMIT, True, False, WRONG),
    ],
)
def test_the_table_of_version_2(state: State, committed: bool, retry: bool, expected: Any) -> None:
    desk, producer = in_state(state)
    known = desk.found()
    answer = (desk.commit if committed else desk.abort)(before(producer) if retry else producer)
    if expected is BUMP:
        assert answer == Producer(producer.producer_id, producer.epoch + 1)
        assert desk.state is (State.COMPLETE_COMMIT if committed else State.COMPLETE_ABORT)
    elif expected is SAME:
        assert (answer, desk.found()) == (producer, known)
    else:
        assert (answer, desk.found()) == (expected, known)


@pytest.mark.parametrize(
    ("state", "abort", "commit"),
    [
        (State.EMPTY, WRONG, WRONG),
        (State.PREPARE_COMMIT, WRONG, WAIT),
        (State.PREPARE_ABORT, WAIT, WRONG),
        (State.COMPLETE_COMMIT, WRONG, SAME),
        (State.COMPLETE_ABORT, SAME, WRONG),
    ],
)
def test_version_1_recognises_a_retry_by_the_state_alone(
    state: State, abort: Any, commit: Any
) -> None:
    desk, producer = in_state(state, TV1)
    for end, expected in ((desk.abort, abort), (desk.commit, commit)):
        assert end(producer, TV1) == (producer if expected is SAME else expected)
        assert end(before(producer), TV1) == FENCED


def test_version_1_keeps_the_epoch() -> None:
    desk, producer = in_state(State.ONGOING, TV1)
    assert desk.commit(producer, TV1) == producer
    assert desk.found().epoch == producer.epoch
    assert desk.markers[-1].producer == producer


def test_version_2_marks_with_the_next_epoch() -> None:
    desk, producer = in_state(State.ONGOING)
    following = desk.commit(producer)
    assert following == Producer(producer.producer_id, producer.epoch + 1)
    assert desk.markers[-1].producer == following


@pytest.mark.parametrize("version", [TV1, TV2])
@pytest.mark.parametrize("committed", [True, False])
def test_a_producer_id_of_somebody_else_is_refused(version: int, committed: bool) -> None:
    desk, producer = in_state(State.ONGOING)
    stranger = Producer(999, producer.epoch)
    end = desk.commit if committed else desk.abort
    assert end(stranger, version) == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert end(producer, version, id="other") == ErrorCode.INVALID_PRODUCER_ID_MAPPING


def worn_out() -> tuple[Desk, Producer]:
    """An ongoing transaction at the last epoch that clients are given."""
    desk, producer = in_state(State.ONGOING)
    key, value = desk.log[-1]
    # Nobody waits for 32,765 transactions: the record says that they have been.
    desk.log[-1] = (
        key,
        (value or b"").replace(b"\x00\x01\x00\x00\xea\x60", b"\x7f\xfe\x00\x00\xea\x60"),
    )
    desk.restart()
    return desk, Producer(producer.producer_id, MAX_EPOCH - 1)


@pytest.mark.parametrize("committed", [True, False])
def test_who_has_used_up_the_epochs_goes_on_with_another_id(committed: bool) -> None:
    desk, producer = worn_out()
    end = desk.commit if committed else desk.abort
    following = end(producer)
    assert following.producer_id != producer.producer_id
    assert following.epoch == 0
    assert desk.markers[-1].producer == Producer(producer.producer_id, MAX_EPOCH)
    assert end(producer) == following, "the retry finds the same"
    assert desk.add(following, A) is None


def test_the_time_out_of_a_worn_out_producer_leaves_nothing_stuck() -> None:
    desk, producer = worn_out()
    desk.pass_time(200_000)
    assert desk.state is State.COMPLETE_ABORT
    assert desk.found().epoch == 0
    assert desk.commit(producer) == FENCED
    assert desk.init() == Producer(desk.found().producer_id, 1)


def test_without_an_id_to_go_on_with_the_client_tries_again() -> None:
    desk, producer = worn_out()
    desk.out_of_ids = True
    assert desk.commit(producer) == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    desk.pass_time(200_000)
    assert desk.state is State.ONGOING
    desk.out_of_ids = False
    desk.pass_time(20_000)
    assert desk.state is State.COMPLETE_ABORT

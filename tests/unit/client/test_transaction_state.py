"""The states of a transactional producer."""

import pytest

from ottla.base.errors import ApiError, OttlaError
from ottla.client.errors import RequestTimedOut
from ottla.client.transaction_state import State, TransactionState
from ottla.protocol.errors import ErrorCode


def open_transaction() -> TransactionState:
    made = TransactionState()
    made.turn(State.READY)
    made.turn(State.OPEN)
    return made


def test_nothing_can_be_sent_before_it_begins() -> None:
    made = TransactionState()
    with pytest.raises(OttlaError, match="init_transactions has not been called"):
        made.need(State.OPEN)
    made.turn(State.READY)
    with pytest.raises(OttlaError, match="call begin_transaction"):
        made.need(State.OPEN)


def test_a_failed_record_dooms_the_transaction_until_it_is_aborted() -> None:
    made = open_transaction()
    made.fail(ApiError(ErrorCode.MESSAGE_TOO_LARGE, "too large"))
    made.fail(OttlaError("a later one"))
    with pytest.raises(ApiError, match="too large"):
        made.need(State.OPEN)
    made.turn(State.ABORTING)
    made.turn(State.READY)
    made.need(State.READY)


def test_a_fence_is_final() -> None:
    made = open_transaction()
    made.fail(ApiError(ErrorCode.PRODUCER_FENCED, "fenced"))
    made.fail(OttlaError("whatever"))
    for state in (State.OPEN, State.READY, State.DOOMED):
        with pytest.raises(ApiError, match="fenced"):
            made.need(state)


def test_a_failure_outside_of_a_transaction_dooms_nothing() -> None:
    made = TransactionState()
    made.turn(State.READY)
    made.fail(OttlaError("a record of an aborted transaction"))
    made.need(State.READY)


def committing() -> TransactionState:
    made = open_transaction()
    made.turn(State.FLUSHING)
    made.turn(State.COMMITTING)
    return made


def test_a_commit_without_an_answer_can_only_be_repeated() -> None:
    made = committing()
    made.end_failed(RequestTimedOut("no answer"))
    made.need(State.COMMITTING)
    assert not made.abortable()
    with pytest.raises(OttlaError, match="call commit_transaction again to learn its outcome"):
        made.need(State.READY)


def test_a_refused_commit_is_final_unless_the_coordinator_wants_an_abort() -> None:
    made = committing()
    made.end_failed(ApiError(ErrorCode.TRANSACTION_ABORTABLE, "abort it"))
    assert made.abortable()
    made = committing()
    made.end_failed(ApiError(ErrorCode.INVALID_PRODUCER_EPOCH, "another producer"))
    with pytest.raises(ApiError, match="another producer"):
        made.need(State.READY)

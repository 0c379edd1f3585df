"""The states of a transactional producer."""

import pytest

from ottla.base.errors import ApiError, OttlaError
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
    made.turn(State.ENDING)
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

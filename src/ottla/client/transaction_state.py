"""Pure: the states of a transactional producer, and what may follow what.

    UNINITIALIZED -> READY -> OPEN -> FLUSHING -> COMMITTING -> READY
                              OPEN, FLUSHING, DOOMED -> ABORTING -> READY
                              OPEN, FLUSHING, COMMITTING -> DOOMED
    every state -> FENCED

OPEN: records and offsets are taken. FLUSHING: no more are, and what there is is being written.
DOOMED: something of the transaction failed, it can only be aborted. COMMITTING, ABORTING: the
coordinator was asked to end it; whoever was interrupted, or ran out of time, asks the same again and
learns the outcome. FENCED: another producer with the same transactional.id has taken over, or the
transaction is in a state from which nothing leads back.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from ottla.base.errors import ApiError, OttlaError
from ottla.client.errors import is_retriable
from ottla.protocol.errors import ErrorCode

FENCING: Final = frozenset(
    (
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.UNSUPPORTED_VERSION,
    )
)
"""Errors after which the producer can only be closed."""

_ENDED_BY: Final = frozenset((ErrorCode.TRANSACTION_ABORTABLE,))
"""Answers to a commit after which the transaction can still be aborted (KIP-890)."""


class State(Enum):
    """Where a transactional producer stands."""

    UNINITIALIZED = "init_transactions has not been called"
    READY = "no transaction is open; call begin_transaction"
    OPEN = "a transaction is open"
    FLUSHING = "the transaction is being committed"
    DOOMED = "the transaction failed and can only be aborted"
    COMMITTING = "a commit was not answered; call commit_transaction again to learn its outcome"
    ABORTING = "an abort was not answered; call abort_transaction again"
    FENCED = "the producer can only be closed"


_MAY_FOLLOW: Final = {
    State.UNINITIALIZED: {State.READY},
    State.READY: {State.OPEN},
    State.OPEN: {State.FLUSHING, State.ABORTING},
    State.FLUSHING: {State.COMMITTING, State.ABORTING},
    State.DOOMED: {State.ABORTING},
    State.COMMITTING: {State.READY},
    State.ABORTING: {State.READY},
    State.FENCED: set[State](),
}


ABORTABLE: Final = (State.OPEN, State.FLUSHING, State.DOOMED, State.ABORTING)


class TransactionState:
    """The state, and the error that led to it."""

    __slots__ = ("error", "state")

    def __init__(self) -> None:
        self.state = State.UNINITIALIZED
        self.error: Exception | None = None

    def need(self, *states: State) -> None:
        """Raise unless the producer is in one of these states; the error that caused it comes first."""
        if self.state in states:
            return
        if self.error is not None and self.state in (State.DOOMED, State.FENCED):
            raise self.error
        raise OttlaError(f"not now: {self.state.value}")

    def turn(self, state: State) -> None:
        """Go over to another state."""
        assert state in _MAY_FOLLOW[self.state], (self.state, state)
        self.state = state
        if state is State.READY:
            self.error = None

    def fail(self, error: Exception) -> None:
        """Something of the transaction failed: it can only be aborted, or the producer only be closed."""
        if self.state is State.FENCED:
            return
        if isinstance(error, ApiError) and error.code in FENCING:
            self.state, self.error = State.FENCED, error
        elif self.state in (State.OPEN, State.FLUSHING, State.DOOMED):
            self.state, self.error = State.DOOMED, self.error or error

    def end_failed(self, error: Exception) -> None:
        """The coordinator did not end the transaction; without an answer, the same may be asked again."""
        if not isinstance(error, ApiError) or is_retriable(error):
            return
        if self.state is State.COMMITTING and error.code in _ENDED_BY:
            self.state, self.error = State.DOOMED, error
        else:
            self.state, self.error = State.FENCED, error

    def abortable(self) -> bool:
        """Whether there is a transaction that can be aborted."""
        return self.state in ABORTABLE

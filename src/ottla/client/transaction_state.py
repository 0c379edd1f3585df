"""Pure: the states of a transactional producer, and what may follow what.

    UNINITIALIZED -> READY -> OPEN -> ENDING -> READY
                              OPEN -> DOOMED -> ENDING
    every state -> FENCED

OPEN: records and offsets are taken. DOOMED: something of the transaction failed, it can only be
aborted. ENDING: the coordinator is writing the end. FENCED: another producer with the same
transactional.id has taken over, or the transaction is in a state from which nothing leads back.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from ottla.base.errors import ApiError, OttlaError
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


class State(Enum):
    """Where a transactional producer stands."""

    UNINITIALIZED = "init_transactions has not been called"
    READY = "no transaction is open; call begin_transaction"
    OPEN = "a transaction is open"
    DOOMED = "the transaction failed and can only be aborted"
    ENDING = "the transaction is being ended"
    FENCED = "the producer can only be closed"


_MAY_FOLLOW: Final = {
    State.UNINITIALIZED: {State.READY},
    State.READY: {State.OPEN},
    State.OPEN: {State.ENDING, State.DOOMED},
    State.DOOMED: {State.ENDING, State.DOOMED},
    State.ENDING: {State.READY, State.DOOMED},
    State.FENCED: set[State](),
}


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
        """Something of the transaction failed."""
        if self.state is State.FENCED:
            return
        if isinstance(error, ApiError) and error.code in FENCING:
            self.state, self.error = State.FENCED, error
        elif self.state in (State.OPEN, State.DOOMED, State.ENDING):
            self.state, self.error = State.DOOMED, self.error or error

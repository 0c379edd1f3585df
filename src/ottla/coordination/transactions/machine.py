"""Pure: how a transaction may change: each function takes what is remembered and a request, and gives what follows.

ApiError says why not. The table for EndTxn of transaction version 2 (KIP-890), where a retry is a request with the
epoch before the current one, its answer having been lost:

    state           abort, retry         abort         commit, retry      commit
    Empty           PRODUCER_FENCED      bump          PRODUCER_FENCED    INVALID_TXN_STATE
    CompleteAbort   as answered before   bump          PRODUCER_FENCED    INVALID_TXN_STATE
    CompleteCommit  INVALID_TXN_STATE    bump          as answered before INVALID_TXN_STATE

A commit in retry at an abort is PRODUCER_FENCED: the coordinator itself has aborted meanwhile (KAFKA-20785).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.coordination.transactions.state import (
    COMPLETE,
    FIRST_WITH_EPOCH_BUMP,
    IDLE,
    MAX_EPOCH,
    NO_EPOCH,
    NO_PRODUCER_ID,
    NOT_STARTED,
    PREPARING,
    Producer,
    State,
    Transaction,
)
from ottla.protocol.errors import ErrorCode

NewProducerId: TypeAlias = Callable[[], int]
"""Gives an id that no producer ever had, or raises ApiError while there is none."""


class Initialized(NamedTuple):
    """What InitProducerId does: give out an epoch, or first abort the transaction of the producer before."""

    transaction: Transaction
    aborts: bool = False


class Claim(NamedTuple):
    """The producer that InitProducerId wants to go on with (KIP-360), and the epoch before the current one."""

    producer: Producer
    last_epoch: int


def create(producer_id: int, timeout_ms: int, now_ms: int) -> Transaction:
    """A transactional id that was never seen, or is forgotten."""
    return Transaction(
        producer_id,
        epoch=0,
        timeout_ms=timeout_ms,
        state=State.EMPTY,
        partitions=frozenset(),
        updated_ms=now_ms,
        previous_producer_id=producer_id,
    )


def initialize(
    found: Transaction,
    claim: Claim | None,
    timeout_ms: int,
    new_producer_id: NewProducerId,
    now_ms: int,
) -> Initialized:
    """A producer starts, or goes on after an error, and fences whoever came before it."""
    if claim is not None and not _may_go_on(found, claim.producer):
        raise ApiError(ErrorCode.PRODUCER_FENCED, "another producer has taken over")
    if found.state in PREPARING:
        raise _concurrent(found)
    retried = False
    if claim is not None and claim.producer != found.producer:
        # Differs from Kafka, which lets a stale claim abort the transaction of the rightful owner first.
        retried = _is_retry(found, claim)
        if not retried:
            raise ApiError(
                ErrorCode.PRODUCER_FENCED, f"epoch {claim.producer.epoch} is not {found.epoch}"
            )
    if found.state is State.ONGOING:
        return Initialized(fence(found, new_producer_id, now_ms), aborts=True)
    producer = found.producer
    if not retried:
        if found.is_exhausted:
            producer = Producer(new_producer_id(), 0)
        else:
            producer = Producer(found.producer_id, found.epoch + 1)
    fresh = found._replace(
        producer_id=producer.producer_id,
        epoch=producer.epoch,
        timeout_ms=timeout_ms,
        state=State.EMPTY,
        partitions=frozenset(),
        updated_ms=now_ms,
        started_ms=NOT_STARTED,
        previous_producer_id=found.producer_id,
    )
    return Initialized(fresh)


def add(
    found: Transaction,
    producer: Producer,
    partitions: Iterable[TopicPartition],
    client_version: int,
    now_ms: int,
) -> Transaction | None:
    """Take partitions into the transaction, which begins with the first; None if all are in it already."""
    _check_open_to(found, producer)
    wanted = frozenset(partitions)
    if found.state is State.ONGOING and wanted <= found.partitions:
        return None
    return found._replace(
        state=State.ONGOING,
        partitions=found.partitions | wanted,
        started_ms=now_ms if found.state in IDLE else found.started_ms,
        updated_ms=now_ms,
        previous_producer_id=found.producer_id,
        client_version=client_version,
    )


def check_within(found: Transaction, producer: Producer, partition: TopicPartition) -> None:
    """Refuse a write to a partition that is not part of the producer's transaction."""
    _check_open_to(found, producer)
    if partition not in found.partitions:
        raise ApiError(
            ErrorCode.TRANSACTION_ABORTABLE, f"{partition} was not added to the transaction"
        )


def end(
    found: Transaction,
    producer: Producer,
    committed: bool,
    client_version: int,
    new_producer_id: NewProducerId,
    now_ms: int,
) -> Transaction | None:
    """Decide the outcome; None if that very outcome was decided by the same request before."""
    if client_version >= FIRST_WITH_EPOCH_BUMP:
        return _end_and_bump(found, producer, committed, new_producer_id, now_ms)
    if found.producer_id != producer.producer_id:
        raise _unknown_producer(producer)
    if found.epoch != producer.epoch:
        raise _fenced(found, producer)
    if found.state is State.ONGOING:
        return _prepare(found, committed, now_ms)._replace(client_version=0)
    if found.state not in _OUTCOME or _OUTCOME[found.state] != committed:
        raise _wrong_state(found, committed)
    if found.state in PREPARING:
        raise _concurrent(found)
    return None


def fence(found: Transaction, new_producer_id: NewProducerId, now_ms: int) -> Transaction:
    """Abort an ongoing transaction over the head of its producer, whose epoch no longer counts."""
    return _bump(_prepare(found, False, now_ms), found, new_producer_id)


def settle(found: Transaction, committed: bool, now_ms: int) -> Transaction:
    """Decide the outcome for a slot of a transaction group, whose producer never goes on by itself."""
    return _prepare(found, committed, now_ms)._replace(
        epoch=min(found.epoch + 1, MAX_EPOCH), client_version=FIRST_WITH_EPOCH_BUMP
    )


def complete(found: Transaction, now_ms: int) -> Transaction:
    """All markers are written; a producer that has used up its epochs goes on with its next id."""
    done = found._replace(
        state=State.COMPLETE_COMMIT
        if found.state is State.PREPARE_COMMIT
        else State.COMPLETE_ABORT,
        partitions=frozenset(),
        updated_ms=now_ms,
        previous_producer_id=found.producer_id,
        next_producer_id=NO_PRODUCER_ID,
        next_epoch=NO_EPOCH,
    )
    if found.next_producer_id != NO_PRODUCER_ID:
        return done._replace(producer_id=found.next_producer_id, epoch=0)
    return done


def next_producer(prepared: Transaction) -> Producer:
    """Who writes the next transaction, once this one is complete."""
    if prepared.next_producer_id != NO_PRODUCER_ID:
        return Producer(prepared.next_producer_id, 0)
    return prepared.producer


def is_expired(found: Transaction, expiration_ms: int, now_ms: int) -> bool:
    """Whether the transactional id was not used for so long that it is forgotten."""
    return found.state in IDLE and found.updated_ms + expiration_ms <= now_ms


_OUTCOME = {
    State.PREPARE_COMMIT: True,
    State.COMPLETE_COMMIT: True,
    State.PREPARE_ABORT: False,
    State.COMPLETE_ABORT: False,
}


def _may_go_on(found: Transaction, claimed: Producer) -> bool:
    """Whether the id is current, or the one before and used up: its answer may have been lost."""
    if claimed.producer_id == found.producer_id:
        return True
    return claimed.producer_id == found.previous_producer_id and claimed.epoch >= MAX_EPOCH - 1


def _is_retry(found: Transaction, claim: Claim) -> bool:
    if found.state is State.ONGOING:
        return False
    return claim.last_epoch != NO_EPOCH and claim.producer.epoch == claim.last_epoch


def _end_and_bump(
    found: Transaction,
    producer: Producer,
    committed: bool,
    new_producer_id: NewProducerId,
    now_ms: int,
) -> Transaction | None:
    retry = _is_retried_end(found, producer)
    if found.producer_id != producer.producer_id and not retry:
        raise _unknown_producer(producer)
    current = found.producer == producer and found.state not in PREPARING
    if not current and (not retry or found.state in (State.EMPTY, State.ONGOING)):
        raise _fenced(found, producer)
    if retry:
        _check_same_outcome(found, producer, committed)
        return None
    if committed and found.state is not State.ONGOING:
        raise _wrong_state(found, committed)
    prepared = _prepare(found, committed, now_ms)
    if found.state in IDLE:
        prepared = prepared._replace(started_ms=now_ms)
    return _bump(prepared, found, new_producer_id)


def _is_retried_end(found: Transaction, producer: Producer) -> bool:
    if found.producer_id == producer.producer_id:
        return found.epoch == producer.epoch + 1
    return (
        found.state in COMPLETE
        and found.previous_producer_id == producer.producer_id
        and producer.epoch == MAX_EPOCH - 1
        and found.epoch == 0
    )


def _check_same_outcome(found: Transaction, producer: Producer, committed: bool) -> None:
    if _OUTCOME[found.state] != committed:
        # Of one producer, only the coordinator's own abort can come between a commit and its retry.
        raise _fenced(found, producer) if committed else _wrong_state(found, committed)
    if found.state in PREPARING:
        raise _concurrent(found)


def _prepare(found: Transaction, committed: bool, now_ms: int) -> Transaction:
    return found._replace(
        state=State.PREPARE_COMMIT if committed else State.PREPARE_ABORT,
        updated_ms=now_ms,
        previous_producer_id=found.producer_id,
        next_producer_id=NO_PRODUCER_ID,
    )


def _bump(prepared: Transaction, found: Transaction, new_producer_id: NewProducerId) -> Transaction:
    """The markers carry the next epoch, so that nothing of this one can follow them."""
    return prepared._replace(
        epoch=min(found.epoch + 1, MAX_EPOCH),
        next_producer_id=new_producer_id() if found.is_exhausted else NO_PRODUCER_ID,
        client_version=FIRST_WITH_EPOCH_BUMP,
    )


def _check_open_to(found: Transaction, producer: Producer) -> None:
    if found.state in PREPARING:
        # Before the rest: the producer may have been told its next id while the markers are still under way.
        raise _concurrent(found)
    if found.producer_id != producer.producer_id:
        raise _unknown_producer(producer)
    if found.epoch != producer.epoch:
        raise _fenced(found, producer)


def _concurrent(found: Transaction) -> ApiError:
    return ApiError(
        ErrorCode.CONCURRENT_TRANSACTIONS, f"the last transaction is still in {found.state.label}"
    )


def _unknown_producer(producer: Producer) -> ApiError:
    return ApiError(
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        f"producer id {producer.producer_id} does not belong to the transactional id",
    )


def _fenced(found: Transaction, producer: Producer) -> ApiError:
    return ApiError(
        ErrorCode.PRODUCER_FENCED, f"epoch {producer.epoch} of the producer is not {found.epoch}"
    )


def _wrong_state(found: Transaction, committed: bool) -> ApiError:
    outcome = "commit" if committed else "abort"
    return ApiError(
        ErrorCode.INVALID_TXN_STATE, f"there is nothing to {outcome} in {found.state.label}"
    )

"""Pure: the end of a transaction: the record that decides it, and the markers that tell its partitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple
from uuid import UUID

from ottla.base.ids import TopicPartition
from ottla.coordination import metrics
from ottla.coordination.decision import KeyValue
from ottla.coordination.transactions import records
from ottla.coordination.transactions.state import Producer, State, Transaction


class Age(NamedTuple):
    """Tells a transaction from the next of its producer, which may have the same epoch."""

    started_ms: int
    decided_ms: int


def age(prepared: Transaction) -> Age:
    """When a transaction whose outcome is decided began, and was decided."""
    return Age(prepared.started_ms, prepared.updated_ms)


class EndMarkers(NamedTuple):
    """The markers that end one transaction: what the writer is given once the outcome is committed.

    Topics with an id in `topic_ids` are meant only as long as they have it: one that was deleted and made again under
    its name has nothing of the transaction.
    """

    transactional_id: str
    producer: Producer
    committed: bool
    partitions: Sequence[TopicPartition]
    transaction_version: int
    age: Age
    topic_ids: Mapping[str, UUID] = MappingProxyType({})


def record(transactional_id: str, transaction: Transaction) -> KeyValue:
    """What is to be remembered of a transactional id from now on."""
    return records.encode_key(transactional_id), records.encode_value(transaction)


def markers(
    transactional_id: str,
    prepared: Transaction,
    missing: Iterable[TopicPartition] | None = None,
    topic_ids: Mapping[str, UUID] = MappingProxyType({}),
) -> EndMarkers:
    """The markers of a transaction whose outcome is decided, for all its partitions or for those that miss them."""
    return EndMarkers(
        transactional_id,
        prepared.producer,
        prepared.state is State.PREPARE_COMMIT,
        sorted(prepared.partitions if missing is None else missing),
        prepared.client_version,
        age(prepared),
        topic_ids,
    )


def count(prepared: Transaction) -> None:
    """One more outcome is decided."""
    ended = metrics.COMMITTED if prepared.state is State.PREPARE_COMMIT else metrics.ABORTED
    ended.value += 1

"""Finds transactions that hang: open in a partition, and unknown to every coordinator."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition

if TYPE_CHECKING:
    from ottla.client.admin import Admin
    from ottla.client.administration.transactions import (
        ProducerDescription,
        TransactionDescription,
    )

_OPEN: Final = ("Ongoing", "PrepareCommit", "PrepareAbort")


class Hanging(NamedTuple):
    """A transaction that is open in a partition, and that no coordinator knows to be open there."""

    at: TopicPartition
    producer: ProducerDescription
    transactional_id: str | None


async def hanging(
    admin: Admin, partitions: Iterable[TopicPartition], *, silent_since_ms: int
) -> list[Hanging]:
    """Transactions whose producer was silent since then, and that their coordinator does not have open."""
    suspects = []
    for at, producers in (await admin.describe_producers(partitions)).items():
        if isinstance(producers, ApiError):
            continue
        suspects += [
            (at, each)
            for each in producers
            if each.transaction_start_offset >= 0 and each.last_timestamp_ms < silent_since_ms
        ]
    if not suspects:
        return []
    ids = await _transactional_ids(admin, {each.producer_id for _, each in suspects})
    described = await admin.describe_transactions(ids.values()) if ids else {}
    return [
        Hanging(at, producer, ids.get(producer.producer_id))
        for at, producer in suspects
        if not _is_open(described.get(ids.get(producer.producer_id, "")), at, producer)
    ]


def _is_open(
    found: TransactionDescription | ApiError | None, at: TopicPartition, who: ProducerDescription
) -> bool:
    return (
        found is not None
        and not isinstance(found, ApiError)
        and found.producer_id == who.producer_id
        and found.state in _OPEN
        and at in found.partitions
    )


async def _transactional_ids(admin: Admin, producer_ids: Iterable[int]) -> dict[int, str]:
    listed = await admin.list_transactions(producer_ids=producer_ids)
    return {
        each.producer_id: each.transactional_id
        for transactions in listed.values()
        for each in transactions
    }

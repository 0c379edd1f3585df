"""Finds transactions that no coordinator will ever end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.base.units import MINUTE_MS
from ottla.cli.kafka.times import now_ms
from ottla.client.administration.transactions import ProducerDescription
from ottla.inspection.outcomes import raise_first
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ottla.cli.kafka.transactions import TransactionAdmin

COLUMNS: Final = (
    "Topic",
    "Partition",
    "ProducerId",
    "ProducerEpoch",
    "CoordinatorEpoch",
    "StartOffset",
    "LastTimestamp",
    "Duration(min)",
)


class Open(NamedTuple):
    """A transaction that is open in a partition."""

    partition: TopicPartition
    producer: ProducerDescription


async def find_hanging(
    admin: TransactionAdmin,
    topic: str | None,
    partition: TopicPartition | None,
    broker_id: int | None,
    max_minutes: int,
) -> list[tuple[object, ...]]:
    """Those open for longer than allowed that their coordinator does not know in that partition."""
    partitions = (
        [partition] if partition is not None else await _partitions(admin, topic, broker_id)
    )
    since_ms = now_ms() - max_minutes * MINUTE_MS
    opened = [
        each
        for each in await _open_transactions(admin, partitions, broker_id)
        if each.producer.last_timestamp_ms < since_ms
    ]
    expected = await _expected(admin, {each.producer.producer_id for each in opened})
    hanging = [
        each for each in opened if each.partition not in expected.get(each.producer.producer_id, ())
    ]
    return [_row(each) for each in hanging]


async def _partitions(
    admin: TransactionAdmin, topic: str | None, broker_id: int | None
) -> list[TopicPartition]:
    topics = await admin.describe_topics(None if topic is None else [topic])
    return [
        TopicPartition(name, each.index)
        for name, found in topics.items()
        if not isinstance(found, ApiError)
        for each in found.partitions
        if broker_id is None or broker_id in each.replicas
    ]


async def _open_transactions(
    admin: TransactionAdmin, partitions: list[TopicPartition], broker_id: int | None
) -> list[Open]:
    found = await admin.describe_producers(partitions, broker_id=broker_id)
    raise_first(found)
    return [
        Open(at, producer)
        for at, producers in sorted(found.items(), key=lambda item: item[0])
        if not isinstance(producers, ApiError)
        for producer in producers
        if producer.transaction_start_offset >= 0
    ]


async def _expected(
    admin: TransactionAdmin, producer_ids: set[int]
) -> dict[int, tuple[TopicPartition, ...]]:
    """The partitions in which coordinators still mean to end the transactions of producers."""
    if not producer_ids:
        return {}
    listed = await admin.list_transactions(producer_ids=producer_ids)
    names = {each.transactional_id: each.producer_id for found in listed.values() for each in found}
    expected = {}
    for name, found in (await admin.describe_transactions(names)).items():
        if not isinstance(found, ApiError):
            expected[names[name]] = found.partitions
        elif found.code != ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            raise found
    return expected


def _row(each: Open) -> tuple[object, ...]:
    producer = each.producer
    minutes = (now_ms() - producer.last_timestamp_ms) // MINUTE_MS
    return (
        *each.partition,
        producer.producer_id,
        producer.producer_epoch,
        producer.coordinator_epoch,
        producer.transaction_start_offset,
        producer.last_timestamp_ms,
        minutes,
    )

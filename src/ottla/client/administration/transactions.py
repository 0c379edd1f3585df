"""Transactions: find those that hang, look into them, abort them, fence their producers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.client.administration.base import (
    Administration,
    Outcome,
    by_topic,
    gathered,
    outcome,
    tried,
)
from ottla.client.cluster import TRANSACTION
from ottla.client.errors import check
from ottla.protocol.apis.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    TopicRequest,
)
from ottla.protocol.apis.describe_transactions import (
    DescribeTransactionsRequest,
    TransactionState,
)
from ottla.protocol.apis.init_producer_id import InitProducerIdRequest
from ottla.protocol.apis.list_transactions import ListTransactionsRequest
from ottla.protocol.apis.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)


class TransactionListing(NamedTuple):
    """A transaction in a list."""

    transactional_id: str
    producer_id: int
    state: str


class TransactionDescription(NamedTuple):
    """A transaction; it has a start, -1 if none, and partitions only while it is open."""

    coordinator_id: int
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    start_ms: int
    partitions: tuple[TopicPartition, ...]


class ProducerDescription(NamedTuple):
    """What a partition knows of a producer; -1 stands for nothing known."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp_ms: int
    coordinator_epoch: int
    transaction_start_offset: int


class ProducerIdentity(NamedTuple):
    """The id and epoch of a producer."""

    producer_id: int
    producer_epoch: int


class Transactions(Administration):
    """Administration of transactions."""

    async def list_transactions(
        self,
        *,
        states: Iterable[str] = (),
        producer_ids: Iterable[int] = (),
        running_longer_than_ms: int = -1,
        transactional_id_pattern: str | None = None,
    ) -> dict[int, list[TransactionListing]]:
        """Transactions by the node that coordinates them."""
        request = ListTransactionsRequest(
            state_filters=list(states),
            producer_id_filters=list(producer_ids),
            duration_filter=running_longer_than_ms,
            transactional_id_pattern=transactional_id_pattern,
        )
        return await self.cluster.retried(lambda: self._list_transactions(request))

    async def describe_transactions(
        self, transactional_ids: Iterable[str]
    ) -> dict[str, Outcome[TransactionDescription]]:
        """Transactions by their ids."""
        wanted = sorted(set(transactional_ids))
        answers = await gathered(tried(self._describe_transaction(each)) for each in wanted)
        return dict(zip(wanted, answers, strict=True))

    async def describe_producers(
        self, partitions: Iterable[TopicPartition], *, broker_id: int | None = None
    ) -> dict[TopicPartition, Outcome[list[ProducerDescription]]]:
        """The producers that wrote to partitions, as the leaders or one broker know them."""

        def request(group: list[TopicPartition]) -> DescribeProducersRequest:
            topics = by_topic(group).items()
            return DescribeProducersRequest(
                topics=[TopicRequest(name=name, partition_indexes=n) for name, n in topics]
            )

        if broker_id is None:
            return await self.ask_leaders(partitions, request, _producers)
        answer = await self.ask_any(request(list(partitions)), node_id=broker_id)
        return dict(_producers(answer))

    async def abort_transaction(
        self, partition: TopicPartition, identity: ProducerIdentity, coordinator_epoch: int
    ) -> None:
        """Write an abort marker into one partition, to free it of a transaction that hangs."""

        def request(group: list[TopicPartition]) -> WriteTxnMarkersRequest:
            topics = [
                WritableTxnMarkerTopic(name=name, partition_indexes=n)
                for name, n in by_topic(group).items()
            ]
            marker = WritableTxnMarker(
                producer_id=identity.producer_id,
                producer_epoch=identity.producer_epoch,
                coordinator_epoch=coordinator_epoch,
                transaction_result=False,
                topics=topics,
            )
            return WriteTxnMarkersRequest(markers=[marker])

        found = (await self.ask_leaders([partition], request, _marked))[partition]
        if isinstance(found, ApiError):
            raise found

    async def fence_producers(
        self, transactional_ids: Iterable[str]
    ) -> dict[str, Outcome[ProducerIdentity]]:
        """Make the producers of transactional ids stop, and abort what they have open."""
        wanted = sorted(set(transactional_ids))
        # The coordinator asks to come back while it ends the transaction that was open.
        answers = await gathered(
            tried(self.cluster.retried(partial(self._fence, each))) for each in wanted
        )
        return dict(zip(wanted, answers, strict=True))

    async def _list_transactions(
        self, request: ListTransactionsRequest
    ) -> dict[int, list[TransactionListing]]:
        found = {}
        for node, answer in (await self.ask_brokers(request)).items():
            # A coordinator that is loading does not know its transactions yet.
            check(answer.error_code)
            found[node] = [
                TransactionListing(each.transactional_id, each.producer_id, each.transaction_state)
                for each in answer.transaction_states
            ]
        return found

    async def _fence(self, transactional_id: str) -> ProducerIdentity:
        # The time-out counts for the id until its next producer; none of them needs a long one.
        request = InitProducerIdRequest(
            transactional_id=transactional_id, transaction_timeout_ms=self.timeout_ms
        )
        answer = await self.cluster.ask_coordinator(transactional_id, request, kind=TRANSACTION)
        check(answer.error_code)
        return ProducerIdentity(answer.producer_id, answer.producer_epoch)

    async def _describe_transaction(self, transactional_id: str) -> TransactionDescription:
        request = DescribeTransactionsRequest(transactional_ids=[transactional_id])
        answer = await self.cluster.ask_coordinator(transactional_id, request, kind=TRANSACTION)
        [found] = answer.transaction_states
        check(found.error_code)
        return _described(found, await self.cluster.coordinator(transactional_id, TRANSACTION))


def _described(found: TransactionState, coordinator_id: int) -> TransactionDescription:
    partitions = [
        TopicPartition(topic.topic, n) for topic in found.topics for n in topic.partitions
    ]
    return TransactionDescription(
        coordinator_id,
        found.transaction_state,
        found.producer_id,
        found.producer_epoch,
        found.transaction_timeout_ms,
        found.transaction_start_time_ms,
        tuple(sorted(partitions)),
    )


def _producers(
    response: DescribeProducersResponse,
) -> Iterator[tuple[TopicPartition, Outcome[list[ProducerDescription]]]]:
    for topic in response.topics:
        for each in topic.partitions:
            producers = [
                ProducerDescription(
                    found.producer_id,
                    found.producer_epoch,
                    found.last_sequence,
                    found.last_timestamp,
                    found.coordinator_epoch,
                    found.current_txn_start_offset,
                )
                for found in each.active_producers
            ]
            where = TopicPartition(topic.name, each.partition_index)
            yield where, outcome(each.error_code, each.error_message, producers)


def _marked(
    response: WriteTxnMarkersResponse,
) -> Iterator[tuple[TopicPartition, Outcome[None]]]:
    for marker in response.markers:
        for topic in marker.topics:
            for each in topic.partitions:
                where = TopicPartition(topic.name, each.partition_index)
                yield where, outcome(each.error_code, None, None)

"""Pure: what brokers ask one another about transactions: partitions to be added, markers to be written, who wrote."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.coordination.transactions.ends import EndMarkers
from ottla.coordination.transactions.state import Producer
from ottla.protocol.apis.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from ottla.protocol.apis.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    TopicRequest,
)
from ottla.protocol.apis.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from ottla.protocol.errors import ErrorCode
from ottla.protocol.records.control import EndTransactionMarker


def add_request(
    transactional_id: str,
    producer: Producer,
    partitions: Collection[TopicPartition],
    *,
    verify_only: bool,
) -> AddPartitionsToTxnRequest:
    """Ask a coordinator to add partitions to a transaction, or whether they are in it."""
    transaction = AddPartitionsToTxnTransaction(
        transactional_id=transactional_id,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        verify_only=verify_only,
        topics=[
            AddPartitionsToTxnTopic(name=topic, partitions=indexes)
            for topic, indexes in _by_topic(partitions).items()
        ],
    )
    return AddPartitionsToTxnRequest(transactions=[transaction])


def first_refusal(response: AddPartitionsToTxnResponse) -> ApiError | None:
    """Why a coordinator did not add, or find, some partition; None if all is well."""
    codes = [response.error_code]
    for transaction in response.results_by_transaction:
        for topic in transaction.topic_results:
            codes += [each.partition_error_code for each in topic.results_by_partition]
    code = next((code for code in codes if code), None)
    return None if code is None else ApiError(code, ErrorCode(code).message)


def markers_request(
    markers: EndMarkers, partitions: Iterable[TopicPartition], ended: EndTransactionMarker
) -> WriteTxnMarkersRequest:
    """Ask a leader to end a transaction in partitions of its own."""
    producer_id, epoch = markers.producer
    marker = WritableTxnMarker(
        producer_id=producer_id,
        producer_epoch=epoch,
        transaction_result=ended.committed,
        topics=[
            WritableTxnMarkerTopic(name=topic, partition_indexes=indexes)
            for topic, indexes in _by_topic(partitions).items()
        ],
        coordinator_epoch=ended.coordinator_epoch,
        transaction_version=markers.transaction_version,
    )
    return WriteTxnMarkersRequest(markers=[marker])


def marker_errors(response: WriteTxnMarkersResponse) -> Iterator[tuple[TopicPartition, int]]:
    """What became of each marker."""
    for marker in response.markers:
        for topic in marker.topics:
            for each in topic.partitions:
                yield TopicPartition(topic.name, each.partition_index), each.error_code


def producers_request(partitions: Iterable[TopicPartition]) -> DescribeProducersRequest:
    """Ask a leader who has written to partitions of its own."""
    return DescribeProducersRequest(
        topics=[
            TopicRequest(name=topic, partition_indexes=indexes)
            for topic, indexes in _by_topic(partitions).items()
        ]
    )


def partitions_without(
    response: DescribeProducersResponse, producer_id: int
) -> Iterator[TopicPartition]:
    """The partitions in which a producer has no transaction open."""
    for topic in response.topics:
        for each in topic.partitions:
            is_open = any(
                producer.producer_id == producer_id and producer.current_txn_start_offset >= 0
                for producer in each.active_producers
            )
            if not each.error_code and not is_open:
                yield TopicPartition(topic.name, each.partition_index)


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = {}
    for topic, index in partitions:
        topics.setdefault(topic, []).append(index)
    return topics

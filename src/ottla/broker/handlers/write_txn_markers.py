"""WriteTxnMarkers (api 27, v1-v2).

Versions: v1 flexible · v2 transaction version, with which a late marker is told from the right one (KIP-1228).
Differs from Apache Kafka:
- A client that is no broker ends only transactions that are open, and neither it nor a broker may use an epoch that no
  coordinator has had. In Kafka one such marker fences the producer's coordinator, or the producer, for good.
- A marker that a coordinator sent on a connection that it has given up is not written. Of a producer that keeps its
  epoch, such a marker could end the transaction after the one that it was meant for.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ottla.base.errors import ApiError, StorageError
from ottla.base.ids import TopicPartition
from ottla.broker.context import RequestContext
from ottla.broker.later import ask_each
from ottla.broker.reply import CloseConnection, Pending
from ottla.coordination.decision import Token
from ottla.coordination.transactions.state import FIRST_WITH_EPOCH_BUMP
from ottla.protocol.apis.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from ottla.protocol.errors import ErrorCode
from ottla.protocol.records.control import EndTransactionMarker
from ottla.replication.partition import error_code_of


def handle(context: RequestContext, request: WriteTxnMarkersRequest) -> Pending:
    """End transactions in partitions that this broker leads."""
    connection, peer = context.connection, context.connection.peer
    if peer >= 0 and context.broker.markers.is_late(peer, connection.number):
        raise CloseConnection(f"broker {peer} has sent markers on a newer connection")
    submits: list[Callable[[Token], None]] = [
        partial(_write, context, marker, TopicPartition(topic.name, index))
        for marker in request.markers
        for topic in marker.topics
        for index in topic.partition_indexes
    ]
    return ask_each(context, submits, partial(_response, request))


def _write(
    context: RequestContext, marker: WritableTxnMarker, tp: TopicPartition, token: Token
) -> None:
    ended = EndTransactionMarker(marker.transaction_result, marker.coordinator_epoch)
    must_bump = marker.transaction_version >= FIRST_WITH_EPOCH_BUMP
    markers, is_operator = context.broker.markers, context.connection.peer < 0
    try:
        markers.check_coordinator(ended)
        if is_operator and not markers.is_needed(tp, marker.producer_id, marker.producer_epoch):
            token(ErrorCode.NONE)
            return
        written = markers.write(
            tp,
            marker.producer_id,
            marker.producer_epoch,
            ended,
            must_bump=must_bump,
            then=token,
        )
    except (ApiError, StorageError) as failure:
        token(error_code_of(failure))
        return
    if written:
        token(ErrorCode.NONE)


def _response(request: WriteTxnMarkersRequest, codes: list[Any]) -> WriteTxnMarkersResponse:
    left = iter(codes)
    return WriteTxnMarkersResponse(
        markers=[
            WritableTxnMarkerResult(
                producer_id=marker.producer_id,
                topics=[
                    WritableTxnMarkerTopicResult(
                        name=topic.name,
                        partitions=[
                            WritableTxnMarkerPartitionResult(
                                partition_index=index, error_code=int(next(left))
                            )
                            for index in topic.partition_indexes
                        ],
                    )
                    for topic in marker.topics
                ],
            )
            for marker in request.markers
        ]
    )

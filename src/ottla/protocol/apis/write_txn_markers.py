"""Pure: WriteTxnMarkers (api 27): end transactions in the logs of partitions.

Versions: v1 flexible · v2 transaction version (KIP-1228).
"""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int8,
    int16,
    int32,
    int64,
    string,
)


class WritableTxnMarkerTopic(Struct):
    """An element of WriteTxnMarkersRequest.markers.topics."""

    name: str = string()
    partition_indexes: list[int] = array(int32)


class WritableTxnMarker(Struct):
    """An element of WriteTxnMarkersRequest.markers."""

    producer_id: int = int64()
    producer_epoch: int = int16()
    transaction_result: bool = boolean()
    topics: list[WritableTxnMarkerTopic] = array(WritableTxnMarkerTopic)
    coordinator_epoch: int = int32()
    transaction_version: int = int8(since=2)


class WriteTxnMarkersRequest(Request, key=ApiKey.WRITE_TXN_MARKERS):
    """The markers to write."""

    markers: list[WritableTxnMarker] = array(WritableTxnMarker)


class WritableTxnMarkerPartitionResult(Struct):
    """An element of WriteTxnMarkersResponse.markers.topics.partitions."""

    partition_index: int = int32()
    error_code: int = int16()


class WritableTxnMarkerTopicResult(Struct):
    """An element of WriteTxnMarkersResponse.markers.topics."""

    name: str = string()
    partitions: list[WritableTxnMarkerPartitionResult] = array(WritableTxnMarkerPartitionResult)


class WritableTxnMarkerResult(Struct):
    """An element of WriteTxnMarkersResponse.markers."""

    producer_id: int = int64()
    topics: list[WritableTxnMarkerTopicResult] = array(WritableTxnMarkerTopicResult)


class WriteTxnMarkersResponse(Response, key=ApiKey.WRITE_TXN_MARKERS):
    """Whether each marker was written."""

    markers: list[WritableTxnMarkerResult] = array(WritableTxnMarkerResult)

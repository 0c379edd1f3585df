"""ListOffsets (api 2, v1-v11).

Versions: v2 isolation level · v4 leader epochs (KIP-320) · v6 flexible · v7 max timestamp (KIP-734) · v8 earliest local
(KIP-405) · v9 latest tiered (KIP-1005) · v10 timeout · v11 earliest pending upload (KIP-1023).
Differs from Apache Kafka: there is no tiered storage, so the earliest local offset is the earliest of all, and nothing
is ever tiered or pending.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine
from typing import Any, Final

from ottla.base.errors import ApiError, StorageError
from ottla.broker.context import RequestContext
from ottla.protocol.apis.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from ottla.protocol.errors import ErrorCode
from ottla.replication.partition import Partition, error_code_of

_LATEST: Final = -1
_EARLIEST: Final = -2
_MAX_TIMESTAMP: Final = -3
_EARLIEST_LOCAL: Final = -4
_LATEST_TIERED: Final = -5
_EARLIEST_PENDING_UPLOAD: Final = -6
_FIRST_VERSION_WITH: Final = {
    _MAX_TIMESTAMP: 7,
    _EARLIEST_LOCAL: 8,
    _LATEST_TIERED: 9,
    _EARLIEST_PENDING_UPLOAD: 11,
}
_NO_NEED_TO_READ: Final = frozenset(
    (_LATEST, _EARLIEST, _EARLIEST_LOCAL, _LATEST_TIERED, _EARLIEST_PENDING_UPLOAD)
)
_CONSUMER: Final = -1
_READ_COMMITTED: Final = 1

# (offset, timestamp, leader epoch), in which -1 stands for "none".
_Found = tuple[int, int, int]
_NOT_FOUND: Final[_Found] = (-1, -1, -1)


def handle(
    context: RequestContext, request: ListOffsetsRequest
) -> ListOffsetsResponse | Coroutine[Any, Any, ListOffsetsResponse]:
    """Look up offsets: the ends of partitions at once, those by time one partition after another."""
    lookup = _Lookup(context, request)
    partitions = (wanted for topic in request.topics for wanted in topic.partitions)
    if all(wanted.timestamp in _NO_NEED_TO_READ for wanted in partitions):
        return lookup.at_once()
    return lookup.by_turns()


class _Lookup:
    """One request under way."""

    __slots__ = ("_asked", "_context", "_request")

    def __init__(self, context: RequestContext, request: ListOffsetsRequest) -> None:
        self._context = context
        self._request = request
        self._asked = Counter(
            (topic.name, wanted.partition_index)
            for topic in request.topics
            for wanted in topic.partitions
        )

    def at_once(self) -> ListOffsetsResponse:
        return ListOffsetsResponse(
            topics=[
                ListOffsetsTopicResponse(
                    name=topic.name,
                    partitions=[self._answer(topic.name, wanted) for wanted in topic.partitions],
                )
                for topic in self._request.topics
            ]
        )

    async def by_turns(self) -> ListOffsetsResponse:
        """Between two lookups that read batches, everybody else gets a turn."""
        response = ListOffsetsResponse()
        for topic in self._request.topics:
            answers = []
            for wanted in topic.partitions:
                answers.append(self._answer(topic.name, wanted))
                await asyncio.sleep(0)
            response.topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=answers))
        return response

    def _answer(self, topic: str, wanted: ListOffsetsPartition) -> ListOffsetsPartitionResponse:
        index = wanted.partition_index
        try:
            self._check(topic, wanted)
            partition = self._context.broker.partitions.leader(topic, index)
            partition.check_leader_epoch(wanted.current_leader_epoch)
            offset, timestamp, epoch = _find(partition, wanted.timestamp, self._upper(partition))
        except (ApiError, StorageError) as failure:
            return ListOffsetsPartitionResponse(
                partition_index=index, error_code=error_code_of(failure)
            )
        return ListOffsetsPartitionResponse(
            partition_index=index, timestamp=timestamp, offset=offset, leader_epoch=epoch
        )

    def _check(self, topic: str, wanted: ListOffsetsPartition) -> None:
        if self._asked[topic, wanted.partition_index] > 1:
            raise ApiError(ErrorCode.INVALID_REQUEST, "a partition is named twice")
        if self._context.version < _FIRST_VERSION_WITH.get(wanted.timestamp, 0):
            raise ApiError(ErrorCode.UNSUPPORTED_VERSION, f"{wanted.timestamp} has no meaning yet")

    def _upper(self, partition: Partition) -> int:
        """The end of what the client may see."""
        if self._request.replica_id != _CONSUMER:
            return partition.log.end_offset
        if self._request.isolation_level == _READ_COMMITTED:
            return partition.last_stable_offset
        return partition.high_watermark


def _find(partition: Partition, timestamp: int, upper_offset: int) -> _Found:
    log = partition.log
    if timestamp == _LATEST:
        return upper_offset, -1, partition.leader_epoch
    if timestamp in (_EARLIEST, _EARLIEST_LOCAL):
        return log.start_offset, -1, log.epochs.epoch_of(log.start_offset)
    if timestamp in (_LATEST_TIERED, _EARLIEST_PENDING_UPLOAD):
        return _NOT_FOUND
    if timestamp == _MAX_TIMESTAMP:
        return log.max_timestamp_offset(upper_offset) or _NOT_FOUND
    return log.offset_for_time(timestamp, upper_offset) or _NOT_FOUND

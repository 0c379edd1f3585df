"""ListOffsets (api 2, v1-v11).

Versions: v2 isolation level · v4 leader epochs (KIP-320) · v5 OFFSET_NOT_AVAILABLE (KIP-207) · v6 flexible · v7 max
timestamp (KIP-734) · v8 earliest local (KIP-405) · v9 latest tiered (KIP-1005) · v10 timeout · v11 earliest pending
upload (KIP-1023).
Differs from Apache Kafka: there is no tiered storage, so the earliest local offset is the earliest of all, and nothing
is ever tiered or pending.
"""

from __future__ import annotations

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
    _LATEST: 1,
    _EARLIEST: 1,
    _MAX_TIMESTAMP: 7,
    _EARLIEST_LOCAL: 8,
    _LATEST_TIERED: 9,
    _EARLIEST_PENDING_UPLOAD: 11,
}
_NO_VERSION_YET: Final = 2**15
_FIRST_NOT_AVAILABLE: Final = 5
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
                    partitions=[self._end(topic.name, wanted) for wanted in topic.partitions],
                )
                for topic in self._request.topics
            ]
        )

    async def by_turns(self) -> ListOffsetsResponse:
        """Records are gone through in a thread; meanwhile everybody else gets a turn."""
        response = ListOffsetsResponse()
        for topic in self._request.topics:
            answers = [await self._either(topic.name, wanted) for wanted in topic.partitions]
            response.topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=answers))
        return response

    async def _either(
        self, topic: str, wanted: ListOffsetsPartition
    ) -> ListOffsetsPartitionResponse:
        if wanted.timestamp in _NO_NEED_TO_READ:
            return self._end(topic, wanted)
        try:
            found = await self._find(self._partition(topic, wanted), wanted.timestamp)
        except (ApiError, StorageError) as failure:
            return self._failed(wanted, failure)
        return _answer(wanted, found)

    def _end(self, topic: str, wanted: ListOffsetsPartition) -> ListOffsetsPartitionResponse:
        try:
            partition = self._partition(topic, wanted)
            if wanted.timestamp == _LATEST:
                self._check_end_known(partition)
        except (ApiError, StorageError) as failure:
            return self._failed(wanted, failure)
        log = partition.log
        if wanted.timestamp == _LATEST:
            return _answer(wanted, (self._upper(partition), -1, partition.leader_epoch))
        if wanted.timestamp in (_EARLIEST, _EARLIEST_LOCAL):
            return _answer(wanted, (log.start_offset, -1, log.epochs.epoch_of(log.start_offset)))
        return _answer(wanted, _NOT_FOUND)

    async def _find(self, partition: Partition, timestamp: int) -> _Found:
        broker, upper = self._context.broker, self._upper(partition)
        if timestamp == _MAX_TIMESTAMP:
            scans = partition.log.scans_for_max_timestamp(upper)
        else:
            scans = partition.log.scans_for_time(timestamp, upper)
        for scan in scans:
            found = await broker.loop.run_in_executor(broker.executor, scan)
            if found is not None:
                return found
        self._check_end_known(partition)
        return _NOT_FOUND

    def _partition(self, topic: str, wanted: ListOffsetsPartition) -> Partition:
        self._check(topic, wanted)
        partition = self._context.broker.partitions.leader(topic, wanted.partition_index)
        partition.check_leader_epoch(wanted.current_leader_epoch)
        return partition

    def _check(self, topic: str, wanted: ListOffsetsPartition) -> None:
        if self._asked[topic, wanted.partition_index] > 1:
            raise ApiError(ErrorCode.INVALID_REQUEST, "a partition is named twice")
        if wanted.timestamp >= 0:
            return
        if self._context.version < _FIRST_VERSION_WITH.get(wanted.timestamp, _NO_VERSION_YET):
            raise ApiError(ErrorCode.UNSUPPORTED_VERSION, f"{wanted.timestamp} has no meaning yet")

    def _check_end_known(self, partition: Partition) -> None:
        if self._request.replica_id == _CONSUMER:
            partition.check_end_known()

    def _failed(
        self, wanted: ListOffsetsPartition, failure: ApiError | StorageError
    ) -> ListOffsetsPartitionResponse:
        code = error_code_of(failure)
        if code == ErrorCode.OFFSET_NOT_AVAILABLE and self._context.version < _FIRST_NOT_AVAILABLE:
            code = ErrorCode.LEADER_NOT_AVAILABLE
        return ListOffsetsPartitionResponse(partition_index=wanted.partition_index, error_code=code)

    def _upper(self, partition: Partition) -> int:
        """The end of what the client may see."""
        if self._request.replica_id != _CONSUMER:
            return partition.log.end_offset
        if self._request.isolation_level == _READ_COMMITTED:
            return partition.last_stable_offset
        return partition.high_watermark


def _answer(wanted: ListOffsetsPartition, found: _Found) -> ListOffsetsPartitionResponse:
    offset, timestamp, epoch = found
    return ListOffsetsPartitionResponse(
        partition_index=wanted.partition_index,
        timestamp=timestamp,
        offset=offset,
        leader_epoch=epoch,
    )

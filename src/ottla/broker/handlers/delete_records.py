"""DeleteRecords (api 21, v0-v2).

Versions: v2 flexible.
Differs from Apache Kafka: the answer waits for the replicas in sync, not for every replica whose broker is alive.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from ottla.base.errors import ApiError, StorageError
from ottla.broker.context import RequestContext
from ottla.broker.later import ask_each
from ottla.broker.reply import Pending
from ottla.broker.topic_views import INTERNAL_TOPICS
from ottla.coordination.decision import Token
from ottla.protocol.apis.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from ottla.protocol.errors import ErrorCode
from ottla.replication.partition import error_code_of

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, TimerHandle

_NO_LOW_WATERMARK = -1


def handle(context: RequestContext, request: DeleteRecordsRequest) -> Pending:
    """Move the start of partitions up, and answer where they start once all replicas in sync start there."""
    submits: list[Callable[[Token], None]] = [
        partial(_delete, context, topic.name, wanted, request.timeout_ms)
        for topic in request.topics
        for wanted in topic.partitions
    ]
    return ask_each(context, submits, partial(_response, request))


def _delete(
    context: RequestContext,
    topic: str,
    wanted: DeleteRecordsPartition,
    timeout_ms: int,
    token: Token,
) -> None:
    """Give the token the result of one partition."""

    def told(low_watermark: int, code: int) -> None:
        low = _NO_LOW_WATERMARK if code else low_watermark
        token(
            DeleteRecordsPartitionResult(
                partition_index=wanted.partition_index, low_watermark=low, error_code=code
            )
        )

    try:
        if topic in INTERNAL_TOPICS:
            raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{topic} is the broker's own")
        partition = context.broker.partitions.leader(topic, wanted.partition_index)
        if "delete" not in partition.log.config.cleanup_policy:
            raise ApiError(
                ErrorCode.POLICY_VIOLATION, f"the cleanup.policy of {topic} lacks delete"
            )
        low_watermark = partition.advance_start_offset(wanted.offset)
    except (ApiError, StorageError) as failure:
        told(_NO_LOW_WATERMARK, error_code_of(failure))
        return
    waiting = _Waiting(partial(told, low_watermark))
    partition.when_trimmed(low_watermark, waiting.answer)
    waiting.give_up_after(context.broker.loop, timeout_ms)


class _Waiting:
    """One partition whose replicas have not all heard yet."""

    __slots__ = ("_then", "_timer")

    def __init__(self, then: Callable[[int], None]) -> None:
        self._then: Callable[[int], None] | None = then
        self._timer: TimerHandle | None = None

    def answer(self, error: int) -> None:
        """Say how it ended, once."""
        then, self._then = self._then, None
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
        if then is not None:
            then(error)

    def give_up_after(self, loop: AbstractEventLoop, timeout_ms: int) -> None:
        """Wait no longer than the client does."""
        if self._then is not None:
            seconds = max(timeout_ms, 0) / 1000
            self._timer = loop.call_later(seconds, self.answer, int(ErrorCode.REQUEST_TIMED_OUT))


def _response(
    request: DeleteRecordsRequest, results: list[DeleteRecordsPartitionResult]
) -> DeleteRecordsResponse:
    left = iter(results)
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=topic.name, partitions=[next(left) for _ in topic.partitions]
            )
            for topic in request.topics
        ]
    )

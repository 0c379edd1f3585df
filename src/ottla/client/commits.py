"""Committed offsets of a consumer's group: written and read at its coordinator.

Commits are sent one after the other, in the order in which they were begun: a retry of an older one never takes back
a newer one. Each carries the member that the program was when it began the commit, not the one it became since.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from inspect import isawaitable
from typing import Any, Final, TypeAlias

from ottla.base.errors import ApiError, OttlaError
from ottla.base.ids import TopicPartition
from ottla.base.log import logger
from ottla.client.administration.base import by_topic
from ottla.client.cluster import Cluster
from ottla.client.errors import RequestTimedOut, api_error, check
from ottla.client.membership import Standing
from ottla.client.positions import OffsetAndMetadata
from ottla.client.retry import Deadline
from ottla.protocol.apis.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from ottla.protocol.apis.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
)
from ottla.protocol.errors import ErrorCode

log = logger(__name__)

Committed: TypeAlias = Callable[
    [Mapping[TopicPartition, OffsetAndMetadata], "Exception | None"], Any
]
"""Called with the offsets, and with why they were not stored; it may be a coroutine function."""

_LAST_BY_NAME: Final = 9
_OUT_OF_THE_GROUP: Final = {
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.STALE_MEMBER_EPOCH,
}


class Commits:
    """Reads and writes the offsets of one group."""

    def __init__(
        self,
        cluster: Cluster,
        standing: Callable[[], Standing],
        losses: Callable[[], int] = lambda: 0,
    ) -> None:
        self._cluster = cluster
        self._standing = standing
        self._losses = losses
        self._newest: asyncio.Task[None] | None = None
        self._telling: set[asyncio.Task[None]] = set()

    async def drain(self) -> None:
        """Wait until all that was begun without waiting is stored or refused, and told."""
        if self._telling:
            await asyncio.wait(self._telling)

    async def close(self) -> None:
        """Give up what the coordinator has not answered; callbacks are told."""
        for task in self._telling:
            task.cancel()
        await self.drain()

    def begin(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> asyncio.Task[None]:
        """Store offsets after all that were begun before; ApiError if the coordinator does not take all of them."""
        standing = self._standing()  # without a group there is nothing to commit to
        work = self._in_turn(self._newest, offsets, standing, self._losses())
        self._newest = asyncio.get_running_loop().create_task(work)
        return self._newest

    async def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Store offsets, and wait until they are stored."""
        await self.begin(offsets)

    async def commit_or_log(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Store offsets, and wait; a failure is logged, not raised."""
        await _told(self.begin(offsets), offsets, None)

    def commit_soon(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        on_commit: Committed | None = None,
    ) -> None:
        """Store offsets without waiting, and tell `on_commit` how it went."""
        work = _told(self.begin(offsets), offsets, on_commit)
        task = asyncio.get_running_loop().create_task(work)
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def _in_turn(
        self,
        before: asyncio.Task[None] | None,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        standing: Standing,
        losses: int,
    ) -> None:
        timeout_ms = self._cluster.settings.default_api_timeout_ms
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                if before is not None and not before.done():
                    await asyncio.wait([before])
                if offsets:
                    await self._until_stored(offsets, standing, losses)
        except TimeoutError:
            raise RequestTimedOut(
                f"the offsets were not committed within default.api.timeout.ms={timeout_ms}; "
                f"check that the coordinator of group {standing.group_id} can be reached"
            ) from None

    async def _until_stored(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], standing: Standing, losses: int
    ) -> None:
        settings = self._cluster.settings
        deadline = Deadline(settings.default_api_timeout_ms)
        while True:
            try:
                await self._commit(offsets, standing)
                return
            except ApiError as error:
                # The next heartbeat brings the epoch that the coordinator expects (KIP-848). Not after a loss: the
                # partitions may be another member's, and the epoch that comes then allows the commit nonetheless.
                stale = error.code == ErrorCode.STALE_MEMBER_EPOCH and self._losses() == losses
                if not stale or not await deadline.sleep(settings.retry_backoff_ms):
                    raise
                if self._losses() == losses:
                    standing = self._standing()

    async def _commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], standing: Standing
    ) -> None:
        request = OffsetCommitRequest(
            group_id=standing.group_id,
            generation_id_or_member_epoch=standing.generation,
            member_id=standing.member_id,
            group_instance_id=standing.instance_id,
            topics=[
                OffsetCommitRequestTopic(
                    name=topic,
                    partitions=[_committed(n, offsets[TopicPartition(topic, n)]) for n in numbers],
                )
                for topic, numbers in by_topic(offsets).items()
            ],
        )
        response: OffsetCommitResponse = await self._cluster.ask_coordinator(
            standing.group_id, request, max_version=_LAST_BY_NAME
        )
        for topic in response.topics:
            for each in topic.partitions:
                _check_commit(each.error_code, standing.group_id)

    async def committed(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """The stored offsets; None where there is none."""
        wanted, group_id = by_topic(partitions), self._standing().group_id
        return await self._cluster.retried(lambda: self._committed(wanted, group_id))

    async def _committed(
        self, wanted: Mapping[str, list[int]], group_id: str
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        request = OffsetFetchRequest(
            group_id=group_id,
            topics=[
                OffsetFetchRequestTopic(name=topic, partition_indexes=numbers)
                for topic, numbers in wanted.items()
            ],
            groups=[
                OffsetFetchRequestGroup(
                    group_id=group_id,
                    topics=[
                        OffsetFetchRequestTopics(name=topic, partition_indexes=numbers)
                        for topic, numbers in wanted.items()
                    ],
                )
            ],
            require_stable=True,
        )
        response: OffsetFetchResponse = await self._cluster.ask_coordinator(
            group_id, request, max_version=_LAST_BY_NAME
        )
        # From version 8 on there is a list of groups, before it one group.
        answer = response.groups[0] if response.groups else response
        check(answer.error_code)
        return {
            TopicPartition(topic.name, each.partition_index): _stored(each)
            for topic in answer.topics
            for each in topic.partitions
        }


async def _told(
    storing: asyncio.Task[None],
    offsets: Mapping[TopicPartition, OffsetAndMetadata],
    on_commit: Committed | None,
) -> None:
    """Tell how a commit went; a commit without a callback that fails is logged."""
    error: Exception | None = None
    cancelled = False
    try:
        await storing
    except OttlaError as failure:
        error = failure
    except asyncio.CancelledError:
        cancelled = True
        error = OttlaError(
            "the consumer was closed before the coordinator answered; whether the offsets were committed is unknown"
        )
    if on_commit is None:
        if error is not None:
            log.warning("offsets were not committed", why=str(error))
    else:
        try:
            told = on_commit(offsets, error)
            if isawaitable(told):
                await told
        except Exception:
            log.exception("a commit callback failed")
    if cancelled:
        raise asyncio.CancelledError


def _committed(partition: int, offset: OffsetAndMetadata) -> OffsetCommitRequestPartition:
    return OffsetCommitRequestPartition(
        partition_index=partition,
        committed_offset=offset.offset,
        committed_leader_epoch=offset.leader_epoch,
        committed_metadata=offset.metadata,
    )


def _check_commit(code: int, group_id: str) -> None:
    if code in _OUT_OF_THE_GROUP:
        raise api_error(
            code,
            f"the offsets were not committed: group {group_id} has rebalanced, and the partitions may be "
            "another member's by now; poll more often, or raise max.poll.interval.ms",
        )
    check(code)


def _stored(
    each: OffsetFetchResponsePartition | OffsetFetchResponsePartitions,
) -> OffsetAndMetadata | None:
    check(each.error_code)
    if each.committed_offset < 0:
        return None
    return OffsetAndMetadata(
        each.committed_offset, each.metadata or "", each.committed_leader_epoch
    )

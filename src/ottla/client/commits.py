"""Committed offsets of a consumer's group: written and read at its coordinator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from inspect import isawaitable
from typing import Any, Final, TypeAlias

from ottla.base.errors import ApiError, OttlaError
from ottla.base.ids import TopicPartition
from ottla.client.administration.base import by_topic
from ottla.client.cluster import Cluster
from ottla.client.errors import api_error, check
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

    def __init__(self, cluster: Cluster, standing: Callable[[], Standing]) -> None:
        self._cluster = cluster
        self._standing = standing

    async def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Store offsets; ApiError if the coordinator does not take all of them."""
        self._standing()  # without a group there is nothing to commit to, however little it is
        settings = self._cluster.settings
        deadline = Deadline(settings.default_api_timeout_ms)
        while offsets:
            try:
                await self._commit(offsets, self._standing())
                return
            except ApiError as error:
                # The next heartbeat brings the epoch that the coordinator expects (KIP-848).
                stale = error.code == ErrorCode.STALE_MEMBER_EPOCH
                if not stale or not await deadline.sleep(settings.retry_backoff_ms):
                    raise

    async def commit_and_tell(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        on_commit: Committed | None = None,
    ) -> None:
        """Store offsets, and tell somebody how it went; nothing is raised."""
        error: Exception | None = None
        try:
            await self.commit(offsets)
        except OttlaError as failure:
            error = failure
        if on_commit is not None:
            told = on_commit(offsets, error)
            if isawaitable(told):
                await told

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

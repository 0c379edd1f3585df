"""What groups have committed: read it, change it, delete it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from ottla.base.ids import TopicPartition
from ottla.client.administration.base import Administration, Outcome, by_topic, outcome
from ottla.client.errors import check
from ottla.protocol.apis.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from ottla.protocol.apis.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from ottla.protocol.apis.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)

# Later versions name topics by id: offsets of a topic that is gone could not be spoken of.
_LAST_BY_NAME: Final = 9


class CommittedOffset(NamedTuple):
    """Where a group goes on reading; -1 for a partition it has committed nothing for."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""


class GroupOffsets(Administration):
    """Administration of committed offsets."""

    async def list_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        require_stable: bool = False,
    ) -> dict[TopicPartition, Outcome[CommittedOffset]]:
        """What a group has committed, for some partitions or for all that it has offsets for."""
        wanted = None if partitions is None else by_topic(partitions)
        request = OffsetFetchRequest(
            group_id=group_id,
            topics=_requested(OffsetFetchRequestTopic, wanted),
            groups=[
                OffsetFetchRequestGroup(
                    group_id=group_id, topics=_requested(OffsetFetchRequestTopics, wanted)
                )
            ],
            require_stable=require_stable,
        )
        response: OffsetFetchResponse = await self.cluster.ask_coordinator(
            group_id, request, max_version=_LAST_BY_NAME
        )
        # From version 8 on there is a list of groups, before it one group.
        found: Any = response.groups[0] if response.groups else response
        check(found.error_code)
        return {
            TopicPartition(topic.name, each.partition_index): outcome(
                each.error_code,
                None,
                CommittedOffset(
                    each.committed_offset, each.committed_leader_epoch, each.metadata or ""
                ),
            )
            for topic in found.topics
            for each in topic.partitions
        }

    async def alter_group_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, CommittedOffset]
    ) -> dict[TopicPartition, Outcome[None]]:
        """Commit offsets in the name of a group that has no members."""
        request = OffsetCommitRequest(
            group_id=group_id,
            topics=[
                OffsetCommitRequestTopic(
                    name=topic,
                    partitions=[
                        _committed(number, offsets[TopicPartition(topic, number)])
                        for number in numbers
                    ],
                )
                for topic, numbers in by_topic(offsets).items()
            ],
        )
        response = await self.cluster.ask_coordinator(group_id, request, max_version=_LAST_BY_NAME)
        return _outcomes(response.topics)

    async def delete_group_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, Outcome[None]]:
        """Delete what a group has committed for partitions that no member reads."""
        request = OffsetDeleteRequest(
            group_id=group_id,
            topics=[
                OffsetDeleteRequestTopic(
                    name=topic,
                    partitions=[OffsetDeleteRequestPartition(partition_index=n) for n in numbers],
                )
                for topic, numbers in by_topic(partitions).items()
            ],
        )
        response = await self.cluster.ask_coordinator(group_id, request)
        check(response.error_code)
        return _outcomes(response.topics)


def _requested(element: type[Any], wanted: Mapping[str, list[int]] | None) -> list[Any] | None:
    if wanted is None:
        return None
    return [element(name=topic, partition_indexes=numbers) for topic, numbers in wanted.items()]


def _committed(number: int, offset: CommittedOffset) -> OffsetCommitRequestPartition:
    return OffsetCommitRequestPartition(
        partition_index=number,
        committed_offset=offset.offset,
        committed_leader_epoch=offset.leader_epoch,
        committed_metadata=offset.metadata,
    )


def _outcomes(topics: Iterable[Any]) -> dict[TopicPartition, Outcome[None]]:
    return {
        TopicPartition(topic.name, each.partition_index): outcome(each.error_code, None, None)
        for topic in topics
        for each in topic.partitions
    }

"""Offsets of partitions: look them up by time, and delete what lies before one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from ottla.base.ids import TopicPartition
from ottla.client.administration.base import Administration, Outcome, by_topic, outcome
from ottla.client.errors import UnsupportedByBroker
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from ottla.protocol.apis.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
EARLIEST_PENDING_UPLOAD: Final = -6
_SINCE_VERSION: Final = {
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
END_OF_LOG: Final = -1
"""As an offset to delete before: everything there is."""


class ListedOffset(NamedTuple):
    """An offset; -1 where no record is as late as the time asked for."""

    offset: int
    timestamp_ms: int
    leader_epoch: int


class Offsets(Administration):
    """Administration of what partitions hold."""

    async def list_offsets(
        self, wanted: Mapping[TopicPartition, int], *, read_committed: bool = False
    ) -> dict[TopicPartition, Outcome[ListedOffset]]:
        """For each partition the first offset at or after a time in ms, or LATEST, EARLIEST ..."""
        if wanted:
            await self._refuse_unknown_specs(min(wanted.values()))

        def request(partitions: list[TopicPartition]) -> ListOffsetsRequest:
            return ListOffsetsRequest(
                replica_id=-1,
                isolation_level=int(read_committed),
                topics=[
                    ListOffsetsTopic(
                        name=topic,
                        partitions=[
                            ListOffsetsPartition(
                                partition_index=number,
                                timestamp=wanted[TopicPartition(topic, number)],
                            )
                            for number in numbers
                        ],
                    )
                    for topic, numbers in by_topic(partitions).items()
                ],
                timeout_ms=self.timeout_ms,
            )

        return await self.ask_leaders(wanted, request, _listed)

    async def delete_records(
        self, before: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, Outcome[int]]:
        """Delete what lies before an offset, or before END_OF_LOG; the new first offsets."""

        def request(partitions: list[TopicPartition]) -> DeleteRecordsRequest:
            return DeleteRecordsRequest(
                topics=[
                    DeleteRecordsTopic(
                        name=topic,
                        partitions=[
                            DeleteRecordsPartition(
                                partition_index=number, offset=before[TopicPartition(topic, number)]
                            )
                            for number in numbers
                        ],
                    )
                    for topic, numbers in by_topic(partitions).items()
                ],
                timeout_ms=self.timeout_ms,
            )

        return await self.ask_leaders(before, request, _deleted)

    async def _refuse_unknown_specs(self, spec: int) -> None:
        connection = await self.cluster.retried(self.cluster.connection)
        version = connection.version_of(ApiKey.LIST_OFFSETS)
        if version < _SINCE_VERSION.get(spec, 0):
            raise UnsupportedByBroker(
                f"the broker at {connection.address} cannot look up offsets by {spec}; "
                f"it serves ListOffsets up to version {version}"
            )


def _listed(
    response: ListOffsetsResponse,
) -> Iterator[tuple[TopicPartition, Outcome[ListedOffset]]]:
    for topic in response.topics:
        for each in topic.partitions:
            found = ListedOffset(each.offset, each.timestamp, each.leader_epoch)
            where = TopicPartition(topic.name, each.partition_index)
            yield where, outcome(each.error_code, None, found)


def _deleted(
    response: DeleteRecordsResponse,
) -> Iterator[tuple[TopicPartition, Outcome[int]]]:
    for topic in response.topics:
        for each in topic.partitions:
            where = TopicPartition(topic.name, each.partition_index)
            yield where, outcome(each.error_code, None, each.low_watermark)

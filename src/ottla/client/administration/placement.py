"""Who leads a partition and who holds its replicas: elections and reassignments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from ottla.base.ids import TopicPartition
from ottla.client.administration.base import Administration, Outcome, by_topic, outcome
from ottla.client.errors import check
from ottla.protocol.apis.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from ottla.protocol.apis.elect_leaders import ElectLeadersRequest, TopicPartitions
from ottla.protocol.apis.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)

PREFERRED: Final = 0
UNCLEAN: Final = 1


class Reassignment(NamedTuple):
    """A move of replicas that is under way."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


class Placement(Administration):
    """Administration of leaders and replicas."""

    async def elect_leaders(
        self, election_type: int = PREFERRED, partitions: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, Outcome[None]]:
        """Have leaders elected, in all partitions with None; those that need none are left out then."""
        wanted = None
        if partitions is not None:
            wanted = [
                TopicPartitions(topic=topic, partitions=numbers)
                for topic, numbers in by_topic(partitions).items()
            ]
        request = ElectLeadersRequest(
            election_type=election_type, topic_partitions=wanted, timeout_ms=self.timeout_ms
        )
        response = await self.cluster.ask_controller(request)
        check(response.error_code)
        return {
            TopicPartition(topic.topic, each.partition_id): outcome(
                each.error_code, each.error_message, None
            )
            for topic in response.replica_election_results
            for each in topic.partition_result
        }

    async def alter_partition_reassignments(
        self,
        replicas: Mapping[TopicPartition, Sequence[int] | None],
        *,
        allow_replication_factor_change: bool = True,
    ) -> dict[TopicPartition, Outcome[None]]:
        """Begin to move partitions to these replicas, or with None end a move that is under way."""
        request = AlterPartitionReassignmentsRequest(
            timeout_ms=self.timeout_ms,
            allow_replication_factor_change=allow_replication_factor_change,
            topics=[_reassignable(topic, n, replicas) for topic, n in by_topic(replicas).items()],
        )
        response = await self.cluster.ask_controller(request)
        check(response.error_code, response.error_message)
        return {
            TopicPartition(topic.name, each.partition_index): outcome(
                each.error_code, each.error_message, None
            )
            for topic in response.responses
            for each in topic.partitions
        }

    async def list_partition_reassignments(
        self, partitions: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, Reassignment]:
        """The moves that are under way, of some partitions or of all."""
        wanted = None
        if partitions is not None:
            wanted = [
                ListPartitionReassignmentsTopics(name=topic, partition_indexes=numbers)
                for topic, numbers in by_topic(partitions).items()
            ]
        request = ListPartitionReassignmentsRequest(timeout_ms=self.timeout_ms, topics=wanted)
        response = await self.cluster.ask_controller(request)
        check(response.error_code, response.error_message)
        return {
            TopicPartition(topic.name, each.partition_index): Reassignment(
                tuple(each.replicas), tuple(each.adding_replicas), tuple(each.removing_replicas)
            )
            for topic in response.topics
            for each in topic.partitions
        }


def _reassignable(
    topic: str, numbers: Iterable[int], replicas: Mapping[TopicPartition, Sequence[int] | None]
) -> ReassignableTopic:
    partitions = []
    for number in numbers:
        target = replicas[TopicPartition(topic, number)]
        ids = None if target is None else list(target)
        partitions.append(ReassignablePartition(partition_index=number, replicas=ids))
    return ReassignableTopic(name=topic, partitions=partitions)

"""Topics and their partitions: list, describe, create, delete, add partitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from ottla.base.errors import ApiError
from ottla.client.administration.base import Administration, Outcome, outcome
from ottla.client.errors import api_error
from ottla.client.view import Partition, Topic
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from ottla.protocol.apis.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
)
from ottla.protocol.apis.delete_topics import DeleteTopicsRequest, DeleteTopicState
from ottla.protocol.apis.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
    TopicRequest,
)
from ottla.protocol.errors import ErrorCode

PARTITIONS_OF_A_PAGE = 2000
"""How many partitions a broker describes in one answer, unless it prefers fewer."""


class NewTopic(NamedTuple):
    """A topic to be; -1 leaves a number to the broker, `assignments` names replicas instead."""

    name: str
    partitions: int = -1
    replication_factor: int = -1
    assignments: Mapping[int, Sequence[int]] = {}
    configs: Mapping[str, str] = {}


class CreatedTopic(NamedTuple):
    """A topic that was made, or with `validate_only` would be."""

    name: str
    id: UUID
    partitions: int
    replication_factor: int
    configs: Mapping[str, str | None]


class NewPartitions(NamedTuple):
    """How many partitions a topic shall have in all, and who holds the new ones."""

    total: int
    assignments: Sequence[Sequence[int]] | None = None


class Topics(Administration):
    """Administration of topics."""

    async def list_topics(self, *, include_internal: bool = True) -> dict[str, Topic]:
        """All topics that this client may see, by name."""
        view = await self.cluster.retried(lambda: self.cluster.refresh(None))
        return {
            name: topic
            for name, topic in sorted(view.topics.items())
            if include_internal or not topic.internal
        }

    async def describe_topics(
        self, names: Iterable[str] | None = None
    ) -> dict[str, Outcome[Topic]]:
        """Topics with their partitions; all of them with None."""
        wanted = sorted(set(names)) if names is not None else list(await self.list_topics())
        if not wanted:
            return {}
        connection = await self.cluster.retried(self.cluster.connection)
        if connection.serves(ApiKey.DESCRIBE_TOPIC_PARTITIONS):
            return await self._describe_in_pages(wanted)
        view = await self.cluster.retried(lambda: self.cluster.refresh(wanted))
        return {name: _from_metadata(name, view.topics.get(name)) for name in wanted}

    async def create_topics(
        self, topics: Iterable[NewTopic], *, validate_only: bool = False
    ) -> dict[str, CreatedTopic]:
        """Make topics; raises ApiError, which names each that was refused, once all were tried."""
        made = await self.try_to_create_topics(topics, validate_only=validate_only)
        refused = [each for each in made.values() if isinstance(each, ApiError)]
        if len(refused) > 1:
            raise ApiError(refused[0].code, "; ".join(map(str, refused)))
        if refused:
            raise refused[0]
        return {name: each for name, each in made.items() if isinstance(each, CreatedTopic)}

    async def try_to_create_topics(
        self, topics: Iterable[NewTopic], *, validate_only: bool = False
    ) -> dict[str, Outcome[CreatedTopic]]:
        """Make topics; the outcome for each of them."""
        request = CreateTopicsRequest(
            topics=[_creatable(_checked(topic)) for topic in topics],
            timeout_ms=self.timeout_ms,
            validate_only=validate_only,
        )
        response = await self.cluster.ask_controller(request)
        return {
            topic.name: outcome(topic.error_code, topic.error_message, _created(topic))
            for topic in response.topics
        }

    async def delete_topics(self, names: Iterable[str]) -> dict[str, Outcome[None]]:
        """Delete topics by name."""
        wanted = sorted(set(names))
        request = DeleteTopicsRequest(
            topics=[DeleteTopicState(name=name) for name in wanted],
            topic_names=wanted,
            timeout_ms=self.timeout_ms,
        )
        response = await self.cluster.ask_controller(request)
        return {
            topic.name: outcome(topic.error_code, topic.error_message, None)
            for topic in response.responses
        }

    async def create_partitions(
        self, topics: Mapping[str, NewPartitions], *, validate_only: bool = False
    ) -> dict[str, Outcome[None]]:
        """Give topics more partitions."""
        request = CreatePartitionsRequest(
            topics=[_growing(name, new) for name, new in topics.items()],
            timeout_ms=self.timeout_ms,
            validate_only=validate_only,
        )
        response = await self.cluster.ask_controller(request)
        return {
            topic.name: outcome(topic.error_code, topic.error_message, None)
            for topic in response.results
        }

    async def _describe_in_pages(self, names: Sequence[str]) -> dict[str, Outcome[Topic]]:
        found: dict[str, Outcome[Topic]] = {}
        request = DescribeTopicPartitionsRequest(
            topics=[TopicRequest(name=name) for name in names],
            response_partition_limit=PARTITIONS_OF_A_PAGE,
        )
        while True:
            response = await self.ask_any(request)
            for topic in response.topics:
                found[topic.name] = _joined(found.get(topic.name), _described(topic))
            if response.next_cursor is None:
                return found
            request.cursor = response.next_cursor
            # The broker begins at the cursor and wants no topic that sorts before it.
            request.topics = [
                t for t in request.topics if t.name >= response.next_cursor.topic_name
            ]


def _joined(before: Outcome[Topic] | None, page: Outcome[Topic]) -> Outcome[Topic]:
    if isinstance(before, Topic) and isinstance(page, Topic):
        return page._replace(partitions=before.partitions + page.partitions)
    return page


def _described(topic: DescribeTopicPartitionsResponseTopic) -> Outcome[Topic]:
    if topic.error_code:
        return _refused(topic.error_code, topic.name or "")
    return Topic(
        topic.name or "",
        topic.topic_id,
        topic.is_internal,
        topic.error_code,
        tuple(sorted(map(_partition, topic.partitions), key=lambda each: each.index)),
        topic.topic_authorized_operations,
    )


def _partition(found: DescribeTopicPartitionsResponsePartition) -> Partition:
    eligible, last_known = found.eligible_leader_replicas, found.last_known_elr
    return Partition(
        found.partition_index,
        found.leader_id,
        found.leader_epoch,
        tuple(found.replica_nodes),
        tuple(found.isr_nodes),
        tuple(found.offline_replicas),
        found.error_code,
        None if eligible is None else tuple(eligible),
        None if last_known is None else tuple(last_known),
    )


def _from_metadata(name: str, topic: Topic | None) -> Outcome[Topic]:
    if topic is None:
        return _refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name)
    return _refused(topic.error, name) if topic.error else topic


def _refused(code: int, name: str) -> ApiError:
    unknown = code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return api_error(code, f"there is no topic {name}" if unknown else None)


def _checked(topic: object) -> NewTopic:
    if not isinstance(topic, NewTopic):
        raise TypeError(
            f"a topic to create is of type {type(topic).__name__}, and NewTopic is needed: "
            'create_topics([ottla.NewTopic("orders", partitions=4)])'
        )
    return topic


def _creatable(topic: NewTopic) -> CreatableTopic:
    assignments = [
        CreatableReplicaAssignment(partition_index=partition, broker_ids=list(replicas))
        for partition, replicas in topic.assignments.items()
    ]
    configs = [CreatableTopicConfig(name=key, value=value) for key, value in topic.configs.items()]
    return CreatableTopic(
        name=topic.name,
        num_partitions=-1 if assignments else topic.partitions,
        replication_factor=-1 if assignments else topic.replication_factor,
        assignments=assignments,
        configs=configs,
    )


def _created(topic: CreatableTopicResult) -> CreatedTopic:
    configs = {config.name: config.value for config in topic.configs or ()}
    return CreatedTopic(
        topic.name, topic.topic_id, topic.num_partitions, topic.replication_factor, configs
    )


def _growing(name: str, new: NewPartitions) -> CreatePartitionsTopic:
    assignments = None
    if new.assignments is not None:
        assignments = [CreatePartitionsAssignment(broker_ids=list(ids)) for ids in new.assignments]
    return CreatePartitionsTopic(name=name, count=new.total, assignments=assignments)

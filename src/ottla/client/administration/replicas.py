"""Replicas of partitions that nobody leads, which ottla alone tells of: how far each is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ottla.base.ids import TopicPartition
from ottla.client.administration.base import Administration, by_topic
from ottla.client.errors import check
from ottla.protocol.apis.describe_replicas import AskedTopic, DescribeReplicasRequest


class ReplicaDescription(NamedTuple):
    """A replica; epoch and end are None if nobody could say them, and so is the time if it never registered."""

    broker_id: int
    is_registered: bool
    last_epoch: int | None
    end_offset: int | None
    registered_ms: int | None


class Replicas(Administration):
    """Administration of replicas."""

    async def describe_replicas(
        self, partitions: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, tuple[ReplicaDescription, ...]]:
        """How far the replicas of partitions are, or with None of all that nobody leads."""
        topics = None
        if partitions is not None:
            topics = [AskedTopic(name=t, partitions=p) for t, p in by_topic(partitions).items()]
        answer = await self.ask_any(DescribeReplicasRequest(topics=topics))
        check(answer.error_code, answer.error_message)
        return {
            TopicPartition(topic.name, each.partition): tuple(
                ReplicaDescription(
                    replica.broker_id,
                    replica.is_registered,
                    replica.last_epoch if replica.end_offset >= 0 else None,
                    replica.end_offset if replica.end_offset >= 0 else None,
                    replica.registered_ms or None,
                )
                for replica in each.replicas
            )
            for topic in answer.topics
            for each in topic.partitions
        }

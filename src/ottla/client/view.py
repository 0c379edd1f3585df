"""Pure: what a client knows of a cluster: its brokers, and who leads which partition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple
from uuid import UUID

from ottla.base.errors import ApiError
from ottla.client.errors import api_error
from ottla.protocol.apis.metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from ottla.protocol.errors import ErrorCode

NOT_TOLD: Final = -(2**31)
"""Stands for authorized operations that nobody asked for."""


class Node(NamedTuple):
    """A broker."""

    id: int
    host: str
    port: int
    rack: str | None = None


class Partition(NamedTuple):
    """A partition; its leader is -1 while there is none, its eligible ones (KIP-966) may be untold."""

    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody needs here
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline: tuple[int, ...] = ()
    error: int = 0
    eligible_leaders: tuple[int, ...] | None = None
    last_known_eligible: tuple[int, ...] | None = None


class Topic(NamedTuple):
    """A topic; one with an error code has no partitions that can be trusted."""

    name: str
    id: UUID
    internal: bool
    error: int
    partitions: tuple[Partition, ...]
    authorized_operations: int = NOT_TOLD

    def partition(self, index: int) -> Partition | None:
        """The partition with this number, if there is one."""
        if 0 <= index < len(self.partitions) and self.partitions[index].index == index:
            return self.partitions[index]
        return next((each for each in self.partitions if each.index == index), None)


class View(NamedTuple):
    """A cluster as its brokers described it; topics that were never asked for are not in it."""

    brokers: Mapping[int, Node] = {}
    controller_id: int = -1
    cluster_id: str | None = None
    topics: Mapping[str, Topic] = {}

    def partition(self, topic: str, index: int) -> Partition | None:
        """A partition, if its topic is known."""
        found = self.topics.get(topic)
        return None if found is None else found.partition(index)

    def why_no_leader(self, topic: str, partition: int) -> ApiError:
        """What to tell whoever needs the leader of a partition that has none here."""
        found = self.topics.get(topic)
        if found is None or found.error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return api_error(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {topic}")
        if found.error:
            return api_error(found.error)
        if found.partition(partition) is None:
            sentence = f"topic {topic} has {len(found.partitions)} partitions, but no {partition}"
            return api_error(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, sentence)
        sentence = f"partition {partition} of topic {topic} has no leader at present"
        return api_error(ErrorCode.LEADER_NOT_AVAILABLE, sentence)


def updated(view: View, response: MetadataResponse, *, complete: bool) -> View:
    """The view after an answer about some topics, or with `complete` about all there are."""
    brokers = {b.node_id: Node(b.node_id, b.host, b.port, b.rack) for b in response.brokers}
    topics = {} if complete else dict(view.topics)
    for topic in response.topics:
        if topic.name is not None:
            topics[topic.name] = _topic(topic.name, topic)
    return View(brokers, response.controller_id, response.cluster_id, topics)


def _topic(name: str, topic: MetadataResponseTopic) -> Topic:
    partitions = sorted(map(_partition, topic.partitions))
    return Topic(name, topic.topic_id, topic.is_internal, topic.error_code, tuple(partitions))


def _partition(partition: MetadataResponsePartition) -> Partition:
    return Partition(
        partition.partition_index,
        partition.leader_id,
        partition.leader_epoch,
        tuple(partition.replica_nodes),
        tuple(partition.isr_nodes),
        tuple(partition.offline_replicas),
        partition.error_code,
    )

"""What `kafka-topics --describe` prints: a line for each topic, and one for each partition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from ottla.base.errors import ApiError
from ottla.base.ids import ZERO_ID, TopicPartition, id_text, parse_id
from ottla.cli.kafka.options import Failed, Given
from ottla.cli.kafka.topics import expect, found_topics
from ottla.client.administration.configs import ConfigEntry, ConfigResource, Configs, ResourceType
from ottla.client.administration.placement import Placement, Reassignment
from ottla.client.administration.topics import Topics
from ottla.client.errors import UnsupportedByBroker
from ottla.client.view import Partition, Topic
from ottla.protocol.errors import ErrorCode

MIN_INSYNC_REPLICAS = "min.insync.replicas"


class TopicDetails(Topics, Configs, Placement):
    """What is asked to describe topics."""


class _Report(NamedTuple):
    """Which partitions are shown; none of these flags shows all of them, and the topics too."""

    live_brokers: frozenset[int]
    under_replicated: bool
    unavailable: bool
    under_min_isr: bool
    at_min_isr: bool

    @property
    def everything(self) -> bool:
        return not any(self[1:])

    def shows(self, partition: Partition, replicas: int, min_isr: int) -> bool:
        in_sync = len(partition.isr)
        return (
            self.everything
            or (self.under_replicated and in_sync < replicas)
            or (self.unavailable and partition.leader not in self.live_brokers)
            or (self.under_min_isr and in_sync < min_isr)
            or (self.at_min_isr and in_sync == min_isr)
        )


async def describe(admin: TopicDetails, given: Given) -> None:
    """Print the topics that were asked for."""
    names = await _wanted(admin, given)
    if not names:
        return
    topics = await admin.describe_topics(names)
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in names]
    configs = await admin.describe_configs(resources)
    moves = await _reassignments(admin)
    report = _Report(
        frozenset(admin.cluster.view.brokers),
        given.has("under-replicated-partitions"),
        given.has("unavailable-partitions"),
        given.has("under-min-isr-partitions"),
        given.has("at-min-isr-partitions"),
    )
    overrides = given.has("topics-with-overrides")
    for resource in resources:
        topic, entries = topics[resource.name], configs[resource]
        if isinstance(topic, ApiError):
            raise topic
        if isinstance(entries, ApiError):
            raise entries
        if report.everything:
            _print_topic(topic, entries, moves, overrides)
        if not overrides:
            _print_partitions(topic, entries, moves, report)


async def _wanted(admin: TopicDetails, given: Given) -> list[str]:
    text = given.value("topic-id")
    wanted = ZERO_ID if text is None else _id(text)
    if wanted == ZERO_ID:
        names = await found_topics(admin, given)
        expect(names, given)
        return names
    topics = await admin.list_topics(include_internal=not given.has("exclude-internal"))
    names = [name for name, topic in topics.items() if topic.id == wanted]
    if not names and not given.has("if-exists"):
        raise Failed(f"TopicId '{text}' does not exist as expected")
    return names


def _id(text: str) -> UUID:
    try:
        return parse_id(text)
    except ValueError:
        raise Failed(f"'{text}' is no topic id: 22 characters of base64 are expected") from None


async def _reassignments(admin: TopicDetails) -> Mapping[TopicPartition, Reassignment]:
    try:
        return await admin.list_partition_reassignments()
    except UnsupportedByBroker:
        return {}
    except ApiError as refused:
        if refused.code != ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            raise
        return {}


def _print_topic(
    topic: Topic,
    configs: Mapping[str, ConfigEntry],
    moves: Mapping[TopicPartition, Reassignment],
    overrides: bool,
) -> None:
    own = [f"{entry.name}={entry.value}" for entry in configs.values() if not entry.is_default]
    if overrides and not own:
        return
    first = topic.partitions[0]
    factor = _replication_factor(first, moves.get(TopicPartition(topic.name, first.index)))
    identity = f"\tTopicId: {id_text(topic.id)}" if topic.id != ZERO_ID else ""
    print(
        f"Topic: {topic.name}{identity}\tPartitionCount: {len(topic.partitions)}"
        f"\tReplicationFactor: {factor}\tConfigs: {','.join(own)}"
    )


def _print_partitions(
    topic: Topic,
    configs: Mapping[str, ConfigEntry],
    moves: Mapping[TopicPartition, Reassignment],
    report: _Report,
) -> None:
    min_isr = int(configs[MIN_INSYNC_REPLICAS].value or 1) if MIN_INSYNC_REPLICAS in configs else 1
    for partition in topic.partitions:
        move = moves.get(TopicPartition(topic.name, partition.index))
        if report.shows(partition, _replication_factor(partition, move), min_isr):
            print(_partition_line(topic.name, partition, move))


def _partition_line(topic: str, partition: Partition, move: Reassignment | None) -> str:
    leader = partition.leader if partition.leader >= 0 else "none"
    line = (
        f"\tTopic: {topic}\tPartition: {partition.index}\tLeader: {leader}"
        f"\tReplicas: {_ids(partition.replicas)}\tIsr: {_ids(partition.isr)}"
    )
    if move is not None:
        line += f"\tAdding Replicas: {_ids(move.adding)}\tRemoving Replicas: {_ids(move.removing)}"
    eligible, known = partition.eligible_leaders, partition.last_known_eligible
    return (
        f"{line}\tElr: {'N/A' if eligible is None else _ids(eligible)}"
        f"\tLastKnownElr: {'N/A' if known is None else _ids(known)}"
    )


def _replication_factor(partition: Partition, move: Reassignment | None) -> int:
    return len(partition.replicas) - (0 if move is None else len(move.adding))


def _ids(brokers: Sequence[int]) -> str:
    return ",".join(map(str, brokers))

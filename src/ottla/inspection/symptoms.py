"""Gathers the facts that a diagnosis needs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from ottla.base.errors import ApiError, OttlaError
from ottla.base.ids import TopicPartition
from ottla.client.administration.configs import ConfigResource, ResourceType
from ottla.client.errors import UnsupportedByBroker
from ottla.inspection.diagnosis import (
    BrokerFacts,
    ClusterFacts,
    DiskFacts,
    GroupFacts,
    MemberFacts,
    TopicFacts,
)
from ottla.inspection.group_history import group_history
from ottla.inspection.group_progress import readings
from ottla.inspection.sizes import spans

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ottla.client.admin import Admin
    from ottla.client.administration.groups import GroupDescription
    from ottla.client.view import Topic

_LATELY_MS: Final = 300_000
_MIN_IN_SYNC: Final = "min.insync.replicas"


async def cluster_facts(admin: Admin) -> ClusterFacts:
    """Of the cluster as a whole."""
    cluster = await admin.describe_cluster()
    brokers = []
    for each in cluster.brokers:
        unreachable = await _unreachable(admin, each.id)
        brokers.append(BrokerFacts(each.id, f"{each.host}:{each.port}", unreachable))
    topics = await with_eligible_leaders(admin, await admin.list_topics())
    lacking = [
        topic.name
        for topic in topics.values()
        if any(len(each.isr) < len(each.replicas) for each in topic.partitions)
    ]
    needed = {
        name: int(configs.get(_MIN_IN_SYNC, "1"))
        for name, configs in (await _configs(admin, lacking)).items()
    }
    reachable = [each.id for each in brokers if each.unreachable is None]
    disks = await _disks(admin, reachable)
    return ClusterFacts(cluster.controller_id, tuple(brokers), topics, needed, disks)


async def with_eligible_leaders(admin: Admin, topics: dict[str, Topic]) -> dict[str, Topic]:
    """The topics; those with partitions that nobody leads are asked which replicas may hold what is committed."""
    unled = [name for name, topic in topics.items() if any(p.leader < 0 for p in topic.partitions)]
    described = await admin.describe_topics(unled) if unled else {}
    known = {name: each for name, each in described.items() if not isinstance(each, ApiError)}
    return {**topics, **known}


async def _unreachable(admin: Admin, broker_id: int) -> str | None:
    try:
        # Once: who has to be asked again and again is not well.
        await admin.cluster.connection(broker_id)
    except OttlaError as failure:
        return str(failure)
    return None


async def _configs(admin: Admin, names: Iterable[str]) -> dict[str, dict[str, str]]:
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in names]
    found = await admin.describe_configs(resources) if resources else {}
    return {
        resource.name: {each.name: each.value or "" for each in entries.values()}
        for resource, entries in found.items()
        if not isinstance(entries, ApiError)
    }


async def _disks(admin: Admin, brokers: Iterable[int]) -> tuple[DiskFacts, ...]:
    found = []
    for broker, dirs in (await admin.describe_log_dirs(brokers)).items():
        for path, each in dirs.items():
            if isinstance(each, ApiError):
                found.append(DiskFacts(broker, path, str(each)))
            else:
                found.append(DiskFacts(broker, path, None, each.total_bytes, each.usable_bytes))
    return tuple(found)


async def topic_facts(admin: Admin, topic: Topic) -> TopicFacts:
    """Of one topic; partitions without a leader have no offsets."""
    led = [TopicPartition(topic.name, each.index) for each in topic.partitions if each.leader >= 0]
    held = await spans(admin, led)
    stable = await spans(admin, led, read_committed=True)
    configs = (await _configs(admin, [topic.name])).get(topic.name, {})
    held_back = {at: span.end for at, span in stable.items() if span.end < held[at].end}
    return TopicFacts(
        topic,
        {at.partition: span.begin for at, span in held.items()},
        {at.partition: span.end for at, span in held.items()},
        {at.partition: span.end for at, span in stable.items()},
        configs,
        await _sinks(admin, held_back) if held_back else {},
    )


async def _sinks(admin: Admin, stable_ends: Mapping[TopicPartition, int]) -> dict[int, str]:
    """Of partitions, the sinks whose transactions begin where careful readers stop."""
    try:
        listed = await admin.list_sinks()
    except UnsupportedByBroker:  # Kafka has none
        return {}
    owners = {
        slot.producer_id: sink.sink_id
        for sinks in listed.values()
        for sink in sinks
        for slot in sink.slots
    }
    producers = await admin.describe_producers(stable_ends)
    return {
        at.partition: owners[each.producer_id]
        for at, found in producers.items()
        if not isinstance(found, ApiError)
        for each in found
        if each.transaction_start_offset == stable_ends[at] and each.producer_id in owners
    }


async def group_facts(admin: Admin, group: GroupDescription, topic: Topic | None) -> GroupFacts:
    """Of one group, in what it reads and in all partitions of a topic that it should read."""
    found = {each.at: each for each in await readings(admin, group)}
    wanted = set(found)
    if topic is not None:
        wanted |= {TopicPartition(topic.name, each.index) for each in topic.partitions}
    held = await spans(admin, sorted(wanted)) if wanted else {}
    committed = {at: each.committed for at, each in found.items() if each.committed is not None}
    return GroupFacts(
        group.group_id,
        group.state,
        tuple(
            MemberFacts(
                each.client_id,
                frozenset((*each.subscribed_topics, *(at.topic for at in each.assignment))),
                len(each.assignment),
            )
            for each in group.members
        ),
        committed,
        {at: span.begin for at, span in held.items()},
        {at: span.end for at, span in held.items()},
        await _rebalances(admin, group.group_id),
    )


async def _rebalances(admin: Admin, group: str) -> int | None:
    try:
        history = await group_history(admin, group)
    except OttlaError:  # Kafka remembers none
        return None
    since_ms = round(time.time() * 1000) - _LATELY_MS
    return sum(each.timestamp_ms >= since_ms for each in history.generations)

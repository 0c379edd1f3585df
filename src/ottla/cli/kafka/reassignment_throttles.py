"""Throttles of moves: settings of brokers and topics that are set before and lifted afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ottla.base.ids import TopicPartition
from ottla.cli.kafka.reassignment_files import Target, names
from ottla.client.administration.configs import (
    AlterOperation,
    ConfigChange,
    ConfigResource,
    Configs,
    ResourceType,
)
from ottla.inspection.outcomes import raise_first

_RATES: Final = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
_DIRECTORY_RATE: Final = "replica.alter.log.dirs.io.max.bytes.per.second"
_LEADERS, _FOLLOWERS = (
    "leader.replication.throttled.replicas",
    "follower.replication.throttled.replicas",
)


async def set_throttles(
    admin: Configs,
    moves: Mapping[TopicPartition, Target],
    before: Mapping[TopicPartition, Target],
    between: int | None,
    within: int | None,
) -> None:
    """Limit the rate of moves between brokers, and between directories of one."""
    brokers = sorted({b for target in (*moves.values(), *before.values()) for b in target.replicas})
    if between is not None and between >= 0:
        await _throttle_topics(admin, moves, before)
        await _set(admin, brokers, {rate: str(between) for rate in _RATES})
        print(f"The inter-broker throttle limit was set to {between} B/s")
    if within is not None and within >= 0:
        await _set(admin, brokers, {_DIRECTORY_RATE: str(within)})
        print(f"The replica-alter-dir throttle limit was set to {within} B/s")


async def clear_throttles(admin: Configs, brokers: Sequence[int], topics: Sequence[str]) -> None:
    """Lift all limits."""
    plural = "s" if len(brokers) > 1 else ""
    print(f"Clearing broker-level throttles on broker{plural} {names(brokers)}")
    await _set(admin, brokers, dict.fromkeys((*_RATES, _DIRECTORY_RATE)))
    plural = "s" if len(topics) > 1 else ""
    print(f"Clearing topic-level throttles on topic{plural} {names(topics)}")
    for topic in topics:
        await _change(admin, ResourceType.TOPIC, topic, dict.fromkeys((_LEADERS, _FOLLOWERS)))


async def _throttle_topics(
    admin: Configs,
    moves: Mapping[TopicPartition, Target],
    before: Mapping[TopicPartition, Target],
) -> None:
    leaders: dict[str, list[str]] = {}
    followers: dict[str, list[str]] = {}
    for partition, target in moves.items():
        old = before[partition].replicas if partition in before else ()
        new = [broker for broker in target.replicas if broker not in old]
        leaders.setdefault(partition.topic, []).extend(
            f"{partition.partition}:{broker}" for broker in old
        )
        followers.setdefault(partition.topic, []).extend(
            f"{partition.partition}:{broker}" for broker in new
        )
    for topic in leaders:
        wanted = {_LEADERS: names(leaders[topic]), _FOLLOWERS: names(followers[topic])}
        await _change(admin, ResourceType.TOPIC, topic, wanted)


async def _set(admin: Configs, brokers: Sequence[int], wanted: Mapping[str, str | None]) -> None:
    for broker in brokers:
        await _change(admin, ResourceType.BROKER, str(broker), wanted)


async def _change(
    admin: Configs, kind: ResourceType, name: str, wanted: Mapping[str, str | None]
) -> None:
    changes = [
        ConfigChange(key, value, AlterOperation.DELETE if value is None else AlterOperation.SET)
        for key, value in wanted.items()
    ]
    raise_first(await admin.alter_configs({ConfigResource(kind, name): changes}))

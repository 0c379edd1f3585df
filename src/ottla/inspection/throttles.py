"""Throttles of moves: settings of brokers and topics that are set before and lifted afterwards (KIP-73)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ottla.base.ids import TopicPartition
from ottla.client.administration.configs import (
    AlterOperation,
    ConfigChange,
    ConfigResource,
    Configs,
    ResourceType,
)
from ottla.inspection.outcomes import raise_first

Replicas = Mapping[TopicPartition, Sequence[int]]
_RATES: Final = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
_DIRECTORY_RATE: Final = "replica.alter.log.dirs.io.max.bytes.per.second"
_LEADERS, _FOLLOWERS = (
    "leader.replication.throttled.replicas",
    "follower.replication.throttled.replicas",
)


async def throttle_moves(
    admin: Configs, moves: Replicas, before: Replicas, brokers: Iterable[int], rate: int
) -> None:
    """Limit the rate, in bytes a second, at which these moves go on between brokers."""
    leaders: dict[str, list[str]] = {}
    followers: dict[str, list[str]] = {}
    for at, replicas in moves.items():
        old = before.get(at, ())
        new = [broker for broker in replicas if broker not in old]
        leaders.setdefault(at.topic, []).extend(f"{at.partition}:{broker}" for broker in old)
        followers.setdefault(at.topic, []).extend(f"{at.partition}:{broker}" for broker in new)
    for topic in leaders:
        wanted = {_LEADERS: ",".join(leaders[topic]), _FOLLOWERS: ",".join(followers[topic])}
        await _change(admin, ResourceType.TOPIC, topic, wanted)
    await throttle_brokers(admin, brokers, rate)


async def throttle_brokers(admin: Configs, brokers: Iterable[int], rate: int) -> None:
    """Limit the rate of moves between brokers that are marked as throttled."""
    await _set(admin, brokers, {name: str(rate) for name in _RATES})


async def throttle_directories(admin: Configs, brokers: Iterable[int], rate: int) -> None:
    """Limit the rate of moves between the directories of brokers."""
    await _set(admin, brokers, {_DIRECTORY_RATE: str(rate)})


async def unthrottle_brokers(admin: Configs, brokers: Iterable[int]) -> None:
    """Lift the limits of brokers."""
    await _set(admin, brokers, dict.fromkeys((*_RATES, _DIRECTORY_RATE)))


async def unthrottle_topics(admin: Configs, topics: Iterable[str]) -> None:
    """Mark no replica of these topics as throttled."""
    for topic in topics:
        await _change(admin, ResourceType.TOPIC, topic, dict.fromkeys((_LEADERS, _FOLLOWERS)))


async def _set(admin: Configs, brokers: Iterable[int], wanted: Mapping[str, str | None]) -> None:
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

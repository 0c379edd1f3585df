"""Throttles of moves, and what Kafka's tool says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ottla.base.ids import TopicPartition
from ottla.cli.kafka.reassignment_files import Target, names
from ottla.client.administration.configs import Configs
from ottla.inspection.throttles import (
    throttle_directories,
    throttle_moves,
    unthrottle_brokers,
    unthrottle_topics,
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
        new = {at: target.replicas for at, target in moves.items()}
        old = {at: target.replicas for at, target in before.items()}
        await throttle_moves(admin, new, old, brokers, between)
        print(f"The inter-broker throttle limit was set to {between} B/s")
    if within is not None and within >= 0:
        await throttle_directories(admin, brokers, within)
        print(f"The replica-alter-dir throttle limit was set to {within} B/s")


async def clear_throttles(admin: Configs, brokers: Sequence[int], topics: Sequence[str]) -> None:
    """Lift all limits."""
    plural = "s" if len(brokers) > 1 else ""
    print(f"Clearing broker-level throttles on broker{plural} {names(brokers)}")
    await unthrottle_brokers(admin, brokers)
    plural = "s" if len(topics) > 1 else ""
    print(f"Clearing topic-level throttles on topic{plural} {names(topics)}")
    await unthrottle_topics(admin, topics)

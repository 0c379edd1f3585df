"""Gives topics of a cluster more replicas, through the protocol, and waits until they are in sync."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from ottla.base.errors import ApiError, OttlaError
from ottla.base.ids import TopicPartition
from ottla.client.administration.configs import ConfigChange, ConfigResource, ResourceType
from ottla.controller.assignment import Candidate, add_replicas

if TYPE_CHECKING:
    from ottla.client.admin import Admin
    from ottla.client.view import Topic

_LOOK_S: Final = 0.2
_MIN_ISR: Final = "min.insync.replicas"
_TRANSACTIONS_TOPIC: Final = "__transaction_state"


class ReplicationNotRaised(OttlaError):
    """The brokers that are needed are not there; nothing was changed."""


async def raise_replication(
    admin: Admin,
    replication_factor: int,
    *,
    all_topics: bool = False,
    transactions_min_isr: int = 2,
    tell: Callable[[str], object] = print,
) -> None:
    """Raises the replication of the internal topics, or of all; those that have enough are left as they are."""
    brokers = [Candidate(each.id, each.rack) for each in (await admin.describe_cluster()).brokers]
    if len(brokers) < replication_factor:
        raise ReplicationNotRaised(
            f"{len(brokers)} of {replication_factor} brokers are registered; start the others with "
            "the same zookeeper.connect, then run this again"
        )
    topics = await admin.list_topics()
    wanted = {name: topic for name, topic in topics.items() if all_topics or topic.internal}
    moves = _moves(brokers, wanted, replication_factor)
    if moves:
        tell(f"giving {len(moves)} partitions {replication_factor} replicas ...")
        for result in (await admin.alter_partition_reassignments(moves)).values():
            if isinstance(result, ApiError):
                raise result
        await _until_moved(admin, moves)
    if _TRANSACTIONS_TOPIC in wanted:
        await _protect_transactions(admin, min(transactions_min_isr, replication_factor))
    tell(f"{', '.join(sorted(wanted)) or 'no topic'}: {replication_factor} replicas")


def _moves(
    brokers: list[Candidate], topics: Mapping[str, Topic], replication_factor: int
) -> dict[TopicPartition, tuple[int, ...]]:
    registered = {broker.broker_id for broker in brokers}
    moves = {}
    for name, topic in topics.items():
        few = [each for each in topic.partitions if len(each.replicas) < replication_factor]
        existing = [tuple(each.replicas) for each in few]
        away = {broker for replicas in existing for broker in replicas} - registered
        if away:
            raise ReplicationNotRaised(
                f"{name} has replicas on broker {min(away)}, which is not registered; start it first"
            )
        placed = add_replicas(brokers, existing, replication_factor)
        for partition, replicas in zip(few, placed, strict=True):
            moves[TopicPartition(name, partition.index)] = replicas
    return moves


async def _until_moved(admin: Admin, moves: Mapping[TopicPartition, tuple[int, ...]]) -> None:
    while await admin.list_partition_reassignments(moves):
        await asyncio.sleep(_LOOK_S)


async def _protect_transactions(admin: Admin, min_isr: int) -> None:
    """As where the topic is made in a cluster; a single broker could not promise that."""
    topic = ConfigResource(ResourceType.TOPIC, _TRANSACTIONS_TOPIC)
    changes = {topic: [ConfigChange(_MIN_ISR, str(min_isr))]}
    for result in (await admin.alter_configs(changes)).values():
        if isinstance(result, ApiError):
            raise result

"""The topics of the coordinators: made through the controller when somebody first asks for a coordinator."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from ottla.base.errors import ApiError
from ottla.base.log import logger
from ottla.broker.topic_creation import create_topics
from ottla.controller.requests import NewTopic
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ottla.broker.context import Broker

log = logger(__name__)

GROUPS_TOPIC: Final = "__consumer_offsets"
TRANSACTIONS_TOPIC: Final = "__transaction_state"


def exists(broker: Broker, topic: str) -> bool:
    """Whether the topic is there, and its coordinators with it."""
    return topic in broker.metadata.image.topics


async def ensure(broker: Broker, topic: str) -> None:
    """Make the topic unless it is there; ApiError or ClusterError if it cannot be made now."""
    if exists(broker, topic):
        return
    wanted = _groups_topic(broker) if topic == GROUPS_TOPIC else _transactions_topic(broker)
    [result] = await create_topics(broker, [wanted])
    if result.error not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
        _tell(topic, str(result.message))
        raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{topic}: {result.message}")


@lru_cache(maxsize=16)
def _tell(topic: str, reason: str) -> None:
    """Once for each reason: clients ask again and again, and few of them show what they are told."""
    log.error("topic of a coordinator cannot be made", topic=topic, reason=reason)


def _groups_topic(broker: Broker) -> NewTopic:
    config = broker.settings.now.groups
    return NewTopic(
        GROUPS_TOPIC,
        config.offsets_topic_num_partitions,
        _replicas(broker, config.offsets_topic_replication_factor),
        configs={
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(config.offsets_topic_segment_bytes),
        },
    )


def _transactions_topic(broker: Broker) -> NewTopic:
    config = broker.settings.now.transactions
    replicas = _replicas(broker, config.transaction_state_log_replication_factor)
    return NewTopic(
        TRANSACTIONS_TOPIC,
        config.transaction_state_log_num_partitions,
        replicas,
        configs={
            "cleanup.policy": "compact",
            "compression.type": "uncompressed",
            "min.insync.replicas": str(min(config.transaction_state_log_min_isr, replicas)),
            "segment.bytes": str(config.transaction_state_log_segment_bytes),
            "unclean.leader.election.enable": "false",
        },
    )


def _replicas(broker: Broker, wanted: int) -> int:
    """As many as were asked for; one for a broker that keeps its own metadata, and so stays alone.

    In a cluster the topic waits until there are enough brokers: fewer replicas would be for ever (KIP-115).
    """
    return 1 if broker.settings.now.zookeeper.connect is None else wanted

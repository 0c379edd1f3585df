"""Pure: brokers, topics and partitions of the image, as clients are shown them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from ottla.cluster.image import NO_LEADER, BrokerImage, Image, PartitionImage
from ottla.controller.names import why_invalid
from ottla.protocol.errors import ErrorCode

INTERNAL_TOPICS: Final = frozenset({"__consumer_offsets", "__transaction_state"})


class Node(NamedTuple):
    """Where clients of one listener reach a broker."""

    broker_id: int
    host: str
    port: int
    rack: str | None


def nodes(image: Image, listener: str) -> Iterator[Node]:
    """The brokers that can be reached through a listener of that name."""
    return reachable(image.brokers.values(), listener)


def reachable(brokers: Iterable[BrokerImage], listener: str) -> Iterator[Node]:
    """Where these brokers are reached through a listener of that name; those without one are left out."""
    for broker in brokers:
        endpoint = broker.endpoint(listener)
        if endpoint is not None:
            yield Node(broker.broker_id, endpoint.host, endpoint.port, broker.rack)


def leader_of(image: Image, partition: PartitionImage) -> tuple[int, int]:
    """The error that a client is told of a partition, and its leader, who must be alive."""
    if partition.leader in image.brokers:
        return ErrorCode.NONE, partition.leader
    return ErrorCode.LEADER_NOT_AVAILABLE, NO_LEADER


def online(image: Image, replicas: tuple[int, ...]) -> list[int]:
    """The replicas whose broker is alive."""
    return [replica for replica in replicas if replica in image.brokers]


def missing_topic_error(name: str) -> int:
    """The error that a client is told of a topic that does not exist."""
    if why_invalid(name) is not None:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

"""Whom to ask instead: a client that came to the wrong broker is told who leads, and where that is (KIP-951)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final
from uuid import UUID

from ottla.broker.topic_views import Node, nodes
from ottla.cluster.image import Image
from ottla.protocol.errors import ErrorCode

_MOVED: Final = frozenset((ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH))


def leader_hint(image: Image, topic: str | bytes, index: int, error: int) -> tuple[int, int] | None:
    """The leader of a partition and its epoch, if the error says that it is another than was thought."""
    if error not in _MOVED:
        return None
    if isinstance(topic, bytes):
        found = image.topics_by_id.get(UUID(bytes=topic))
    else:
        found = image.topics.get(topic)
    partition = None if found is None else found.partition(index)
    if partition is None or partition.leader not in image.brokers:
        return None
    return partition.leader, partition.leader_epoch


def hinted_nodes(image: Image, listener: str, leaders: Collection[int]) -> list[Node]:
    """Where those who were named as leaders are reached."""
    return [node for node in nodes(image, listener) if node.broker_id in leaders]

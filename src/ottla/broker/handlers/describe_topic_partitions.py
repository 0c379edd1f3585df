"""DescribeTopicPartitions (api 75, v0).

Versions: v0 only (KIP-966).
"""

from __future__ import annotations

from collections.abc import Iterable

from ottla.broker import authorized_operations
from ottla.broker.context import RequestContext
from ottla.broker.topic_views import INTERNAL_TOPICS, leader_of, missing_topic_error
from ottla.cluster.image import Image, PartitionImage, TopicImage
from ottla.controller.leaders import eligible_leaders
from ottla.protocol.apis.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from ottla.protocol.errors import ErrorCode


def handle(
    context: RequestContext, request: DescribeTopicPartitionsRequest
) -> DescribeTopicPartitionsResponse:
    """Describe topics in the order of their names, from the cursor on, up to a number of partitions."""
    names = sorted({topic.name for topic in request.topics})
    cursor = request.cursor
    if cursor is not None and not _continues(cursor, names):
        return DescribeTopicPartitionsResponse(
            topics=[_failed(name, ErrorCode.INVALID_REQUEST) for name in names]
        )
    image = context.broker.metadata.image
    if not names:
        names = sorted(image.topics)
    start = Cursor() if cursor is None else cursor
    most = context.broker.settings.now.server.max_request_partition_size_limit
    limit = max(1, min(request.response_partition_limit, most))
    return _page(image, [name for name in names if name >= start.topic_name], start, limit)


def _continues(cursor: Cursor, names: list[str]) -> bool:
    """Whether the cursor can be one that this list of topics led to; a page of all topics outlives any of them."""
    return cursor.partition_index >= 0 and (not names or cursor.topic_name in names)


def _page(
    image: Image, names: Iterable[str], start: Cursor, limit: int
) -> DescribeTopicPartitionsResponse:
    response = DescribeTopicPartitionsResponse()
    for name in names:
        topic = image.topics.get(name)
        if topic is None:
            response.topics.append(_missing(name))
            continue
        first = start.partition_index if name == start.topic_name else 0
        if limit == 0:
            response.next_cursor = Cursor(topic_name=name, partition_index=first)
            break
        shown = topic.partitions[first : first + limit]
        response.topics.append(_described(image, topic, shown))
        limit -= len(shown)
        if first + len(shown) < len(topic.partitions):
            response.next_cursor = Cursor(topic_name=name, partition_index=first + len(shown))
            break
    return response


def _missing(name: str) -> DescribeTopicPartitionsResponseTopic:
    topic = _failed(name, missing_topic_error(name))
    # Rules are about names, so what one may do is known before there is a topic.
    topic.topic_authorized_operations = authorized_operations.TOPIC
    return topic


def _failed(name: str, error: int) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        error_code=error, name=name, is_internal=name in INTERNAL_TOPICS
    )


def _described(
    image: Image, topic: TopicImage, partitions: Iterable[PartitionImage]
) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.name in INTERNAL_TOPICS,
        partitions=[_partition(image, partition) for partition in partitions],
        topic_authorized_operations=authorized_operations.TOPIC,
    )


def _partition(image: Image, partition: PartitionImage) -> DescribeTopicPartitionsResponsePartition:
    error, leader = leader_of(image, partition)
    eligible, last_known = eligible_leaders(image, partition)
    return DescribeTopicPartitionsResponsePartition(
        error_code=error,
        partition_index=partition.partition,
        leader_id=leader,
        leader_epoch=partition.leader_epoch,
        replica_nodes=list(partition.replicas),
        isr_nodes=list(partition.isr),
        eligible_leader_replicas=list(eligible),
        last_known_elr=list(last_known),
        offline_replicas=list(image.offline_replicas(partition)),
    )

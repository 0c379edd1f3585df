"""ListPartitionReassignments (api 46, v0)."""

from __future__ import annotations

from collections.abc import Iterable

from ottla.broker.context import RequestContext
from ottla.cluster.image import PartitionImage, TopicImage
from ottla.controller.reassignment import is_moving
from ottla.protocol.apis.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)


def handle(
    context: RequestContext, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    """The partitions that move, and from where to where."""
    topics = context.broker.metadata.image.topics
    if request.topics is None:
        found = [_render(topic, topic.partitions) for topic in topics.values()]
    else:
        found = [
            _render(topics[each.name], _chosen(topics[each.name], each.partition_indexes))
            for each in request.topics
            if each.name in topics
        ]
    return ListPartitionReassignmentsResponse(
        error_message=None, topics=[topic for topic in found if topic.partitions]
    )


def _chosen(topic: TopicImage, indexes: Iterable[int]) -> list[PartitionImage]:
    return [found for index in indexes if (found := topic.partition(index)) is not None]


def _render(topic: TopicImage, partitions: Iterable[PartitionImage]) -> OngoingTopicReassignment:
    return OngoingTopicReassignment(
        name=topic.name,
        partitions=[
            OngoingPartitionReassignment(
                partition_index=each.partition,
                replicas=list(each.replicas),
                adding_replicas=list(each.adding),
                removing_replicas=list(each.removing),
            )
            for each in partitions
            if is_moving(each)
        ],
    )

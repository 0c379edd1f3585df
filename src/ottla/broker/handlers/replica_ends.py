"""ReplicaEnds (api 10002, v0; ottla's own): how far the replicas on this broker are."""

from __future__ import annotations

from ottla.broker.context import Broker, RequestContext
from ottla.protocol.apis.replica_ends import (
    ReplicaEnd,
    ReplicaEndsRequest,
    ReplicaEndsResponse,
    TopicEnds,
    TopicPartitions,
)
from ottla.protocol.errors import ErrorCode


def handle(context: RequestContext, request: ReplicaEndsRequest) -> ReplicaEndsResponse:
    """The last epoch and the end offset of each log."""
    return ReplicaEndsResponse(topics=[_ends(context.broker, topic) for topic in request.topics])


def _ends(broker: Broker, topic: TopicPartitions) -> TopicEnds:
    ends = [_end(broker, topic.topic_id.bytes, index) for index in topic.partitions]
    return TopicEnds(topic_id=topic.topic_id, partitions=ends)


def _end(broker: Broker, topic_id: bytes, index: int) -> ReplicaEnd:
    partition = broker.partitions.find(topic_id, index)
    if partition is None or partition.log.log_dir.offline is not None:
        return ReplicaEnd(partition=index, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    last_epoch, end_offset = partition.end
    return ReplicaEnd(partition=index, last_epoch=last_epoch, end_offset=end_offset)

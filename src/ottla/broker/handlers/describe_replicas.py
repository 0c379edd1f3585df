"""DescribeReplicas (api 10101, v0; ottla's own): how far the replicas of partitions are that nobody leads.

Clients other than ottla's are not told of it (docs/adr/0006).
"""

from __future__ import annotations

from ottla.base.ids import TopicPartition
from ottla.broker.context import RequestContext
from ottla.controller.elections import ReplicaState
from ottla.protocol.apis.describe_replicas import (
    DescribedPartition,
    DescribedReplica,
    DescribedTopic,
    DescribeReplicasRequest,
    DescribeReplicasResponse,
)


async def handle(
    context: RequestContext, request: DescribeReplicasRequest
) -> DescribeReplicasResponse:
    """Ask the brokers that are there; nothing is changed."""
    wanted = None
    if request.topics is not None:
        wanted = [TopicPartition(t.name, each) for t in request.topics for each in t.partitions]
    found = await context.broker.elections.describe_replicas(wanted)
    topics: dict[str, DescribedTopic] = {}
    for tp, replicas in found.items():
        topic = topics.setdefault(tp.topic, DescribedTopic(name=tp.topic, partitions=[]))
        rendered = [_render(each) for each in replicas]
        topic.partitions.append(DescribedPartition(partition=tp.partition, replicas=rendered))
    return DescribeReplicasResponse(topics=list(topics.values()))


def _render(replica: ReplicaState) -> DescribedReplica:
    last_epoch, end_offset = replica.end or (-1, -1)
    return DescribedReplica(
        broker_id=replica.broker_id,
        is_registered=replica.is_registered,
        last_epoch=last_epoch,
        end_offset=end_offset,
        registered_ms=replica.registered_ms,
    )

"""AlterPartition (api 56, v2-v3): a leader asks the controller for other ISRs.

Versions: v3 broker epochs of the members (KIP-903).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from ottla.broker.context import RequestContext
from ottla.controller.isr import IsrResult, WantedIsr
from ottla.protocol.apis.alter_partition import (
    AlteredPartition,
    AlteredTopic,
    AlterPartitionRequest,
    AlterPartitionResponse,
)

_FIRST_WITH_EPOCHS = 3


async def handle(context: RequestContext, request: AlterPartitionRequest) -> AlterPartitionResponse:
    """Grant what can be granted; the leaders learn of it from the metadata, like everybody."""
    wanted = list(_wanted(context, request))
    results = await context.broker.elections.alter_isrs(
        request.broker_id, request.broker_epoch, wanted
    )
    by_topic = groupby(results, key=lambda result: result.topic_id)
    return AlterPartitionResponse(
        topics=[
            AlteredTopic(topic_id=topic_id, partitions=[_render(result) for result in found])
            for topic_id, found in by_topic
        ]
    )


def _wanted(context: RequestContext, request: AlterPartitionRequest) -> Iterator[WantedIsr]:
    for topic in request.topics:
        for each in topic.partitions:
            if context.version >= _FIRST_WITH_EPOCHS:
                isr = tuple((m.broker_id, m.broker_epoch) for m in each.new_isr_with_epochs)
            else:
                isr = tuple((broker_id, -1) for broker_id in each.new_isr)
            left = each.left_end
            yield WantedIsr(
                topic.topic_id,
                each.partition_index,
                each.leader_epoch,
                each.partition_epoch,
                isr,
                None if left is None else (left.last_epoch, left.end_offset),
            )


def _render(result: IsrResult) -> AlteredPartition:
    if result.now is None:
        return AlteredPartition(partition_index=result.partition, error_code=result.error)
    return AlteredPartition(
        partition_index=result.partition,
        error_code=result.error,
        leader_id=result.now.leader,
        leader_epoch=result.now.leader_epoch,
        isr=list(result.now.isr),
        partition_epoch=result.now.partition_epoch,
    )

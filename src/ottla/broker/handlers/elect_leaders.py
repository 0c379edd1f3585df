"""ElectLeaders (api 43, v0-v2).

Versions: v1 unclean elections (KIP-460) · v2 flexible.
Differs from Apache Kafka: the election is over when the answer comes; the timeout is not looked at.
"""

from __future__ import annotations

from ottla.base.ids import TopicPartition
from ottla.broker.context import RequestContext
from ottla.protocol.apis.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from ottla.protocol.errors import ErrorCode

_PREFERRED, _UNCLEAN = 0, 1


async def handle(context: RequestContext, request: ElectLeadersRequest) -> ElectLeadersResponse:
    """Give partitions back to their preferred leaders, or give a leader to those that have none."""
    if request.election_type not in (_PREFERRED, _UNCLEAN):
        return _refused(request)
    wanted = _named(request) if request.topic_partitions is not None else _all(context)
    errors = await context.broker.elections.elect(wanted, unclean=request.election_type == _UNCLEAN)
    topics: dict[str, list[PartitionResult]] = {}
    for tp in wanted:
        error = errors[tp]
        if request.topic_partitions is None and error is ErrorCode.ELECTION_NOT_NEEDED:
            continue  # as Kafka: whoever asks for all is told of those that changed
        message = None if error is ErrorCode.NONE else error.message
        result = PartitionResult(partition_id=tp.partition, error_code=error, error_message=message)
        topics.setdefault(tp.topic, []).append(result)
    return ElectLeadersResponse(
        replica_election_results=[
            ReplicaElectionResult(topic=topic, partition_result=results)
            for topic, results in topics.items()
        ]
    )


def _refused(request: ElectLeadersRequest) -> ElectLeadersResponse:
    """The error for the whole and for each partition: v0 has room for the latter alone."""
    code = ErrorCode.INVALID_REQUEST
    message = f"there is no election of type {request.election_type}"
    return ElectLeadersResponse(
        error_code=code,
        replica_election_results=[
            ReplicaElectionResult(
                topic=topic.topic,
                partition_result=[
                    PartitionResult(partition_id=index, error_code=code, error_message=message)
                    for index in topic.partitions
                ],
            )
            for topic in request.topic_partitions or ()
        ],
    )


def _named(request: ElectLeadersRequest) -> list[TopicPartition]:
    return [
        TopicPartition(topic.topic, index)
        for topic in request.topic_partitions or ()
        for index in topic.partitions
    ]


def _all(context: RequestContext) -> list[TopicPartition]:
    return [
        TopicPartition(topic.name, partition.partition)
        for topic in context.broker.metadata.image.topics.values()
        for partition in topic.partitions
    ]

"""AlterReplicaLogDirs (api 34, v1-v2).

Versions: v2 flexible.
Differs from Apache Kafka: a directory for a replica that is not here yet is not remembered; it is told that there is no
such replica, as Kafka does, and may be moved once it is there.
"""

from __future__ import annotations

from ottla.base.errors import ApiError, StorageError
from ottla.base.ids import TopicPartition
from ottla.broker.context import Broker, RequestContext
from ottla.protocol.apis.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from ottla.protocol.errors import ErrorCode
from ottla.replication.partition import error_code_of


def handle(
    context: RequestContext, request: AlterReplicaLogDirsRequest
) -> AlterReplicaLogDirsResponse:
    """Begin to move replicas into other directories of this broker."""
    results: dict[str, list[AlterReplicaLogDirPartitionResult]] = {}
    for directory in request.dirs:
        for topic in directory.topics:
            for index in topic.partitions:
                code = _begin(context.broker, directory.path, TopicPartition(topic.name, index))
                results.setdefault(topic.name, []).append(
                    AlterReplicaLogDirPartitionResult(partition_index=index, error_code=code)
                )
    return AlterReplicaLogDirsResponse(
        results=[
            AlterReplicaLogDirTopicResult(topic_name=name, partitions=partitions)
            for name, partitions in results.items()
        ]
    )


def _begin(broker: Broker, path: str, tp: TopicPartition) -> int:
    logs = broker.logs
    target = next((each for each in logs.dirs if each.path == path), None)
    if target is None:
        return ErrorCode.LOG_DIR_NOT_FOUND
    if target.offline is not None:
        return ErrorCode.KAFKA_STORAGE_ERROR
    try:
        broker.partitions.readable(*tp)
        logs.moves.begin(tp, target)
    except (ApiError, StorageError) as failure:
        code = error_code_of(failure)
        # Kafka keeps the older word for this API.
        is_elsewhere = code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.REPLICA_NOT_AVAILABLE if is_elsewhere else code
    return ErrorCode.NONE

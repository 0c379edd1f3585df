"""Pure: AlterReplicaLogDirs (api 34): move replicas between the directories of one broker (KIP-113).

Versions: v2 flexible.
"""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import Request, Response, Struct, array, int16, int32, string


class AlterReplicaLogDirTopic(Struct):
    """An element of AlterReplicaLogDirsRequest.dirs.topics."""

    name: str = string()
    partitions: list[int] = array(int32)


class AlterReplicaLogDir(Struct):
    """An element of AlterReplicaLogDirsRequest.dirs."""

    path: str = string()
    topics: list[AlterReplicaLogDirTopic] = array(AlterReplicaLogDirTopic)


class AlterReplicaLogDirsRequest(Request, key=ApiKey.ALTER_REPLICA_LOG_DIRS):
    """The directories with the partitions that shall lie there."""

    dirs: list[AlterReplicaLogDir] = array(AlterReplicaLogDir)


class AlterReplicaLogDirPartitionResult(Struct):
    """An element of AlterReplicaLogDirsResponse.results.partitions."""

    partition_index: int = int32()
    error_code: int = int16()


class AlterReplicaLogDirTopicResult(Struct):
    """An element of AlterReplicaLogDirsResponse.results."""

    topic_name: str = string()
    partitions: list[AlterReplicaLogDirPartitionResult] = array(AlterReplicaLogDirPartitionResult)


class AlterReplicaLogDirsResponse(Response, key=ApiKey.ALTER_REPLICA_LOG_DIRS):
    """What became of each partition."""

    throttle_time_ms: int = int32()
    results: list[AlterReplicaLogDirTopicResult] = array(AlterReplicaLogDirTopicResult)

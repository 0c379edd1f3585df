"""DescribeLogDirs (api 35, v1-v5).

Versions: v2 flexible · v3 an error for the whole · v4 total and usable bytes (KIP-827) · v5 cordoned directories.
Differs from Apache Kafka: no directory is cordoned.
"""

from __future__ import annotations

from ottla.base.ids import TopicPartition
from ottla.broker.context import RequestContext
from ottla.protocol.apis.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from ottla.protocol.errors import ErrorCode
from ottla.storage.logs import DirDescription


def handle(context: RequestContext, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
    """List the log directories with the partitions in them, all or those asked for."""
    wanted = None
    if request.topics is not None:
        wanted = {
            TopicPartition(topic.topic, index)
            for topic in request.topics
            for index in topic.partitions
        }
    return DescribeLogDirsResponse(
        results=[
            _render(context, directory, wanted) for directory in context.broker.logs.describe()
        ]
    )


def _render(
    context: RequestContext, directory: DirDescription, wanted: set[TopicPartition] | None
) -> DescribeLogDirsResult:
    topics: dict[str, list[DescribeLogDirsPartition]] = {}
    found = [(tp, size, _lag(context, tp), False) for tp, size in directory.sizes.items()]
    found += [(tp, *future, True) for tp, future in directory.futures.items()]
    for tp, size_bytes, lag, is_future in sorted(found):
        if wanted is None or tp in wanted:
            topics.setdefault(tp.topic, []).append(
                DescribeLogDirsPartition(
                    partition_index=tp.partition,
                    partition_size=size_bytes,
                    offset_lag=lag,
                    is_future_key=is_future,
                )
            )
    return DescribeLogDirsResult(
        error_code=ErrorCode.KAFKA_STORAGE_ERROR if directory.offline else ErrorCode.NONE,
        log_dir=directory.path,
        topics=[
            DescribeLogDirsTopic(name=name, partitions=partitions)
            for name, partitions in topics.items()
        ],
        total_bytes=directory.total_bytes,
        usable_bytes=directory.usable_bytes,
    )


def _lag(context: RequestContext, tp: TopicPartition) -> int:
    """How far a replica is behind what is committed; a leader never is."""
    partition = context.broker.partitions.find(tp.topic, tp.partition)
    if partition is None:
        return 0
    return max(partition.high_watermark - partition.log.end_offset, 0)

"""Pure: DescribeLogDirs (api 35): the log directories and how much each partition takes.

Versions: v2 flexible · v3 top-level error · v4 sizes of volumes · v5 cordoned directories.
"""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int16,
    int32,
    int64,
    string,
)


class DescribableLogDirTopic(Struct):
    """An element of DescribeLogDirsRequest.topics."""

    topic: str = string()
    partitions: list[int] = array(int32)


class DescribeLogDirsRequest(Request, key=ApiKey.DESCRIBE_LOG_DIRS):
    """The partitions to describe: null for all."""

    topics: list[DescribableLogDirTopic] | None = array(DescribableLogDirTopic, nullable=True)


class DescribeLogDirsPartition(Struct):
    """An element of DescribeLogDirsResponse.results.topics.partitions."""

    partition_index: int = int32()
    partition_size: int = int64()
    offset_lag: int = int64()
    is_future_key: bool = boolean()


class DescribeLogDirsTopic(Struct):
    """An element of DescribeLogDirsResponse.results.topics."""

    name: str = string()
    partitions: list[DescribeLogDirsPartition] = array(DescribeLogDirsPartition)


class DescribeLogDirsResult(Struct):
    """An element of DescribeLogDirsResponse.results."""

    error_code: int = int16()
    log_dir: str = string()
    topics: list[DescribeLogDirsTopic] = array(DescribeLogDirsTopic)
    total_bytes: int = int64(-1, since=4)
    usable_bytes: int = int64(-1, since=4)
    is_cordoned: bool = boolean(since=5)


class DescribeLogDirsResponse(Response, key=ApiKey.DESCRIBE_LOG_DIRS):
    """The directories and what is in them."""

    throttle_time_ms: int = int32()
    error_code: int = int16(since=3)
    results: list[DescribeLogDirsResult] = array(DescribeLogDirsResult)

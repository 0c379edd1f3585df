"""Pure: CreatePartitions (api 37): add partitions to topics.

Versions: v2 flexible · v3 quota errors.
"""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import Request, Response, Struct, array, boolean, int16, int32, string


class CreatePartitionsAssignment(Struct):
    """An element of CreatePartitionsRequest.topics.assignments."""

    broker_ids: list[int] = array(int32)


class CreatePartitionsTopic(Struct):
    """An element of CreatePartitionsRequest.topics."""

    name: str = string()
    count: int = int32()
    assignments: list[CreatePartitionsAssignment] | None = array(
        CreatePartitionsAssignment, nullable=True
    )


class CreatePartitionsRequest(Request, key=ApiKey.CREATE_PARTITIONS):
    """The topics with their new number of partitions."""

    topics: list[CreatePartitionsTopic] = array(CreatePartitionsTopic)
    timeout_ms: int = int32()
    validate_only: bool = boolean()


class CreatePartitionsTopicResult(Struct):
    """An element of CreatePartitionsResponse.results."""

    name: str = string()
    error_code: int = int16()
    error_message: str | None = string(None, nullable=True)


class CreatePartitionsResponse(Response, key=ApiKey.CREATE_PARTITIONS):
    """Whether each topic grew."""

    throttle_time_ms: int = int32()
    results: list[CreatePartitionsTopicResult] = array(CreatePartitionsTopicResult)

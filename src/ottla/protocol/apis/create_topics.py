"""Pure: CreateTopics (api 19): create topics.

Versions: v4 defaults for partitions and replicas (KIP-464) · v5 flexible, effective configs
(KIP-525) · v7 topic ids.
"""

from __future__ import annotations

from uuid import UUID

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int8,
    int16,
    int32,
    string,
    uuid,
)


class CreatableReplicaAssignment(Struct):
    """An element of CreateTopicsRequest.topics.assignments."""

    partition_index: int = int32()
    broker_ids: list[int] = array(int32)


class CreatableTopicConfig(Struct):
    """An element of CreateTopicsRequest.topics.configs."""

    name: str = string()
    value: str | None = string(nullable=True)


class CreatableTopic(Struct):
    """An element of CreateTopicsRequest.topics."""

    name: str = string()
    num_partitions: int = int32()
    replication_factor: int = int16()
    assignments: list[CreatableReplicaAssignment] = array(CreatableReplicaAssignment)
    configs: list[CreatableTopicConfig] = array(CreatableTopicConfig)


class CreateTopicsRequest(Request, key=ApiKey.CREATE_TOPICS):
    """The topics to create."""

    topics: list[CreatableTopic] = array(CreatableTopic)
    timeout_ms: int = int32(60000)
    validate_only: bool = boolean()


class CreatableTopicConfigs(Struct):
    """An element of CreateTopicsResponse.topics.configs."""

    name: str = string()
    value: str | None = string(nullable=True)
    read_only: bool = boolean()
    config_source: int = int8(-1)
    is_sensitive: bool = boolean()


class CreatableTopicResult(Struct):
    """An element of CreateTopicsResponse.topics."""

    name: str = string()
    topic_id: UUID = uuid(since=7)
    error_code: int = int16()
    error_message: str | None = string(nullable=True)
    topic_config_error_code: int = int16(since=5, tag=0)
    num_partitions: int = int32(-1, since=5)
    replication_factor: int = int16(-1, since=5)
    configs: list[CreatableTopicConfigs] | None = array(
        CreatableTopicConfigs, since=5, nullable=True
    )


class CreateTopicsResponse(Response, key=ApiKey.CREATE_TOPICS):
    """Whether each topic was created, and with what."""

    throttle_time_ms: int = int32()
    topics: list[CreatableTopicResult] = array(CreatableTopicResult)

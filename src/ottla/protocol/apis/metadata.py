"""Pure: Metadata (api 3): who the brokers are and who leads which partition.

Versions: v4 auto-creation flag · v7 leader epoch · v9 flexible · v10 topic ids · v12 lookup by id ·
v13 top-level error (KIP-1102).
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
    int16,
    int32,
    string,
    uuid,
)


class MetadataRequestTopic(Struct):
    """An element of MetadataRequest.topics."""

    topic_id: UUID = uuid(since=10)
    name: str | None = string(nullable_since=10)


class MetadataRequest(Request, key=ApiKey.METADATA):
    """Which topics to describe: null for all; in v0 an empty list means all as well."""

    topics: list[MetadataRequestTopic] | None = array(MetadataRequestTopic, nullable_since=1)
    allow_auto_topic_creation: bool = boolean(True, since=4)
    include_cluster_authorized_operations: bool = boolean(since=8, until=10)
    include_topic_authorized_operations: bool = boolean(since=8)


class MetadataResponseBroker(Struct):
    """An element of MetadataResponse.brokers."""

    node_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = string(None, since=1, nullable=True)


class MetadataResponsePartition(Struct):
    """An element of MetadataResponse.topics.partitions."""

    error_code: int = int16()
    partition_index: int = int32()
    leader_id: int = int32()
    leader_epoch: int = int32(-1, since=7)
    replica_nodes: list[int] = array(int32)
    isr_nodes: list[int] = array(int32)
    offline_replicas: list[int] = array(int32, since=5)


class MetadataResponseTopic(Struct):
    """An element of MetadataResponse.topics."""

    error_code: int = int16()
    name: str | None = string(nullable_since=12)
    topic_id: UUID = uuid(since=10)
    is_internal: bool = boolean(since=1)
    partitions: list[MetadataResponsePartition] = array(MetadataResponsePartition)
    topic_authorized_operations: int = int32(-(2**31), since=8)


class MetadataResponse(Response, key=ApiKey.METADATA):
    """The brokers, the controller, and the topics with their partitions."""

    throttle_time_ms: int = int32(since=3)
    brokers: list[MetadataResponseBroker] = array(MetadataResponseBroker)
    cluster_id: str | None = string(None, since=2, nullable=True)
    controller_id: int = int32(-1, since=1)
    topics: list[MetadataResponseTopic] = array(MetadataResponseTopic)
    cluster_authorized_operations: int = int32(-(2**31), since=8, until=10)
    error_code: int = int16(since=13)

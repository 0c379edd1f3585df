"""Pure: DescribeCluster (api 60): the brokers and the controller (KIP-700).

Versions: v1 endpoint type · v2 fenced brokers.
"""

from __future__ import annotations

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
)


class DescribeClusterRequest(Request, key=ApiKey.DESCRIBE_CLUSTER):
    """What to include."""

    include_cluster_authorized_operations: bool = boolean()
    endpoint_type: int = int8(1, since=1)
    include_fenced_brokers: bool = boolean(since=2)


class DescribeClusterBroker(Struct):
    """An element of DescribeClusterResponse.brokers."""

    broker_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = string(None, nullable=True)
    is_fenced: bool = boolean(since=2)


class DescribeClusterResponse(Response, key=ApiKey.DESCRIBE_CLUSTER):
    """The cluster."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(None, nullable=True)
    endpoint_type: int = int8(1, since=1)
    cluster_id: str = string()
    controller_id: int = int32(-1)
    brokers: list[DescribeClusterBroker] = array(DescribeClusterBroker)
    cluster_authorized_operations: int = int32(-(2**31))

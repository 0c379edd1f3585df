"""DescribeCluster (api 60, v0-v2).

Versions: v1 endpoint type (KIP-919) · v2 fenced brokers.
Differs from Apache Kafka: there are no fenced brokers, as one that is not registered is not known.
"""

from __future__ import annotations

from typing import Final

from ottla.broker import authorized_operations
from ottla.broker.context import RequestContext
from ottla.broker.topic_views import nodes
from ottla.protocol.apis.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from ottla.protocol.errors import ErrorCode

_BROKERS: Final = 1
_CONTROLLERS: Final = 2


def handle(context: RequestContext, request: DescribeClusterRequest) -> DescribeClusterResponse:
    """Name the cluster, its brokers and its controller."""
    if request.endpoint_type != _BROKERS:
        return _wrong_endpoint(request.endpoint_type)
    image = context.broker.metadata.image
    return DescribeClusterResponse(
        cluster_id=image.cluster_id,
        controller_id=image.controller_id,
        brokers=[
            DescribeClusterBroker(
                broker_id=node.broker_id, host=node.host, port=node.port, rack=node.rack
            )
            for node in nodes(image, context.connection.listener)
        ],
        cluster_authorized_operations=authorized_operations.CLUSTER
        if request.include_cluster_authorized_operations
        else authorized_operations.NOT_ASKED,
    )


def _wrong_endpoint(asked: int) -> DescribeClusterResponse:
    if asked == _CONTROLLERS:
        return DescribeClusterResponse(
            error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            error_message="this is a broker; it cannot list the endpoints of controllers",
        )
    return DescribeClusterResponse(
        error_code=ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
        error_message=f"there is no endpoint type {asked}",
    )

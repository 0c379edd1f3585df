"""ListConfigResources (api 74, v0-v1).

Versions: v0 lists client metrics only (KIP-714) · v1 any type (KIP-1142).
Differs from Apache Kafka: client metrics have no settings yet, so none are listed.
"""

from __future__ import annotations

from collections.abc import Iterable

from ottla.broker.config_resources import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    EVERY_TYPE,
    GROUP,
    TOPIC,
)
from ottla.broker.context import RequestContext
from ottla.cluster.image import Image
from ottla.protocol.apis.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from ottla.protocol.errors import ErrorCode


def handle(
    context: RequestContext, request: ListConfigResourcesRequest
) -> ListConfigResourcesResponse:
    """Name the resources of the types asked for, or of all types."""
    wanted = [CLIENT_METRICS] if context.version == 0 else request.resource_types
    if not set(wanted) <= set(EVERY_TYPE):
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    image = context.broker.metadata.image
    return ListConfigResourcesResponse(
        config_resources=[
            ConfigResource(resource_name=name, resource_type=kind)
            for kind in wanted or EVERY_TYPE
            for name in _names(image, kind)
        ]
    )


def _names(image: Image, kind: int) -> Iterable[str]:
    if kind == TOPIC:
        return image.topics
    if kind in (BROKER, BROKER_LOGGER):
        return map(str, image.brokers)
    if kind == GROUP:
        return image.group_configs
    return ()

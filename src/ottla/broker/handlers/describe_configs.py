"""DescribeConfigs (api 32, v1-v4).

Versions: v3 documentation and types · v4 flexible.
Differs from Apache Kafka: a broker has no loggers of its own to list; client metrics have no settings yet; groups
have no settings for share groups and streams groups.
"""

from __future__ import annotations

from collections.abc import Collection

from ottla.base.errors import ApiError
from ottla.broker.config_resources import BROKER, BROKER_LOGGER, GROUP, TOPIC, broker_named
from ottla.broker.context import Broker, RequestContext
from ottla.broker.topic_views import missing_topic_error
from ottla.config.describe import (
    ConfigRow,
    describe_broker,
    describe_cluster,
    describe_group,
    describe_topic,
)
from ottla.protocol.apis.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from ottla.protocol.errors import ErrorCode


def handle(context: RequestContext, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
    """List the settings of each resource, with where each value comes from."""
    return DescribeConfigsResponse(
        results=[_describe(context.broker, request, resource) for resource in request.resources]
    )


def _describe(
    broker: Broker, request: DescribeConfigsRequest, resource: DescribeConfigsResource
) -> DescribeConfigsResult:
    result = DescribeConfigsResult(
        error_message=None,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
    try:
        # As in Kafka, a list without names asks for all of them.
        rows = _rows(broker, resource, resource.configuration_keys or None)
        result.configs = [_render(request, row) for row in rows]
    except ApiError as failure:
        result.error_code, result.error_message = failure.code, str(failure)
    return result


def _rows(
    broker: Broker, resource: DescribeConfigsResource, names: Collection[str] | None
) -> list[ConfigRow]:
    name, overlay = resource.resource_name, broker.settings.overlay
    image = broker.metadata.image
    if resource.resource_type == TOPIC:
        if name not in image.topics:
            raise ApiError(missing_topic_error(name), f"there is no topic {name!r}")
        return describe_topic(overlay, image.topic_config(name), names)
    if resource.resource_type == BROKER:
        if broker_named(name, broker.node_id) is None:
            return describe_cluster(overlay, names)
        return describe_broker(overlay, names)
    if resource.resource_type == GROUP:
        if not name:
            raise ApiError(ErrorCode.INVALID_REQUEST, "Group name must not be empty")
        return describe_group(overlay, image.group_config(name), names)
    if resource.resource_type == BROKER_LOGGER:
        if broker_named(name, broker.node_id) is None:
            raise ApiError(ErrorCode.INVALID_REQUEST, "name the broker whose loggers are meant")
        return []
    raise ApiError(
        ErrorCode.INVALID_REQUEST,
        f"resources of type {resource.resource_type} have no settings here",
    )


def _render(request: DescribeConfigsRequest, row: ConfigRow) -> DescribeConfigsResourceResult:
    synonyms = row.synonyms if request.include_synonyms else ()
    return DescribeConfigsResourceResult(
        name=row.name,
        value=row.value,
        read_only=row.read_only,
        config_source=row.source,
        is_sensitive=row.is_sensitive,
        synonyms=[
            DescribeConfigsSynonym(name=synonym.name, value=synonym.value, source=synonym.source)
            for synonym in synonyms
        ],
        config_type=row.type_code,
        documentation=row.documentation if request.include_documentation else None,
    )

"""IncrementalAlterConfigs (api 44, v0-v1).

Versions: v1 flexible.
Differs from Apache Kafka: the levels of a broker's loggers cannot be changed.
"""

from __future__ import annotations

from ottla.broker.config_changes import alteration, carry_out
from ottla.broker.context import RequestContext
from ottla.protocol.apis.incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)


async def handle(
    context: RequestContext, request: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
    """Change single settings of resources, and leave the others as they are."""
    wanted = [
        alteration(
            resource.resource_type,
            resource.resource_name,
            [(config.name, config.config_operation, config.value) for config in resource.configs],
        )
        for resource in request.resources
    ]
    results = await carry_out(
        context.broker.controller, wanted, validate_only=request.validate_only
    )
    return IncrementalAlterConfigsResponse(
        responses=[
            AlterConfigsResourceResponse(
                error_code=result.error,
                error_message=result.message,
                resource_type=result.resource_type,
                resource_name=result.resource_name,
            )
            for result in results
        ]
    )

"""AlterConfigs (api 33, v0-v2).

Versions: v2 flexible.
Differs from Apache Kafka: none known.
"""

from __future__ import annotations

from ottla.broker.config_changes import alteration, carry_out
from ottla.broker.context import RequestContext
from ottla.config.dynamic import Op
from ottla.protocol.apis.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)


async def handle(context: RequestContext, request: AlterConfigsRequest) -> AlterConfigsResponse:
    """Give resources exactly these settings; all others go back to their defaults."""
    wanted = [
        alteration(
            resource.resource_type,
            resource.resource_name,
            [(config.name, Op.SET, config.value) for config in resource.configs],
            replace=True,
        )
        for resource in request.resources
    ]
    results = await carry_out(
        context.broker.controller, wanted, validate_only=request.validate_only
    )
    return AlterConfigsResponse(
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

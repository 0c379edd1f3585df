"""Pure: AlterConfigs (api 33): replace all settings of topics and brokers.

Versions: v2 flexible.
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


class AlterableConfig(Struct):
    """An element of AlterConfigsRequest.resources.configs."""

    name: str = string()
    value: str | None = string(nullable=True)


class AlterConfigsResource(Struct):
    """An element of AlterConfigsRequest.resources."""

    resource_type: int = int8()
    resource_name: str = string()
    configs: list[AlterableConfig] = array(AlterableConfig)


class AlterConfigsRequest(Request, key=ApiKey.ALTER_CONFIGS):
    """The resources with all their settings."""

    resources: list[AlterConfigsResource] = array(AlterConfigsResource)
    validate_only: bool = boolean()


class AlterConfigsResourceResponse(Struct):
    """An element of AlterConfigsResponse.responses."""

    error_code: int = int16()
    error_message: str | None = string(nullable=True)
    resource_type: int = int8()
    resource_name: str = string()


class AlterConfigsResponse(Response, key=ApiKey.ALTER_CONFIGS):
    """Whether each resource was changed."""

    throttle_time_ms: int = int32()
    responses: list[AlterConfigsResourceResponse] = array(AlterConfigsResourceResponse)

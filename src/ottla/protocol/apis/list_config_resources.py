"""Pure: ListConfigResources (api 74): the resources that have settings (KIP-1142).

Versions: v0 client metrics only · v1 any type.
"""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import Request, Response, Struct, array, int8, int16, int32, string


class ListConfigResourcesRequest(Request, key=ApiKey.LIST_CONFIG_RESOURCES):
    """The types wanted, empty for all."""

    resource_types: list[int] = array(int8, since=1)


class ConfigResource(Struct):
    """An element of ListConfigResourcesResponse.config_resources."""

    resource_name: str = string()
    resource_type: int = int8(16, since=1)


class ListConfigResourcesResponse(Response, key=ApiKey.LIST_CONFIG_RESOURCES):
    """The resources."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    config_resources: list[ConfigResource] = array(ConfigResource)

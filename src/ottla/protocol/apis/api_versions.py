"""Pure: ApiVersions (api 18): what this broker can do, the first thing a client asks.

Versions: v3 flexible, features and client software (KIP-511, KIP-584) · v4 features whose minimum
is 0. The response header is version 0 always.
"""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int16,
    int32,
    int64,
    string,
)


class ApiVersionsRequest(Request, key=ApiKey.API_VERSIONS):
    """The client's software, from v3 on."""

    client_software_name: str = string(since=3)
    client_software_version: str = string(since=3)


class ApiVersion(Struct):
    """An element of ApiVersionsResponse.api_keys."""

    api_key: int = int16()
    min_version: int = int16()
    max_version: int = int16()


class SupportedFeatureKey(Struct):
    """An element of ApiVersionsResponse.supported_features."""

    name: str = string()
    min_version: int = int16()
    max_version: int = int16()


class FinalizedFeatureKey(Struct):
    """An element of ApiVersionsResponse.finalized_features."""

    name: str = string()
    max_version_level: int = int16()
    min_version_level: int = int16()


class ApiVersionsResponse(Response, key=ApiKey.API_VERSIONS):
    """The APIs with their versions, and the features."""

    error_code: int = int16()
    api_keys: list[ApiVersion] = array(ApiVersion)
    throttle_time_ms: int = int32(since=1)
    supported_features: list[SupportedFeatureKey] = array(SupportedFeatureKey, since=3, tag=0)
    finalized_features_epoch: int = int64(-1, since=3, tag=1)
    finalized_features: list[FinalizedFeatureKey] = array(FinalizedFeatureKey, since=3, tag=2)
    zk_migration_ready: bool = boolean(since=3, tag=3)

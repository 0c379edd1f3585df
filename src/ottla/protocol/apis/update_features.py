"""Pure: UpdateFeatures (api 57): raise or lower the level of features of the cluster (KIP-584).

Versions: v1 kinds of upgrade, dry run · v2 one error for all.
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


class FeatureUpdateKey(Struct):
    """An element of UpdateFeaturesRequest.feature_updates."""

    feature: str = string()
    max_version_level: int = int16()
    allow_downgrade: bool = boolean(until=0)
    upgrade_type: int = int8(1, since=1)


class UpdateFeaturesRequest(Request, key=ApiKey.UPDATE_FEATURES):
    """The new levels."""

    timeout_ms: int = int32(60000)
    feature_updates: list[FeatureUpdateKey] = array(FeatureUpdateKey)
    validate_only: bool = boolean(since=1)


class UpdatableFeatureResult(Struct):
    """An element of UpdateFeaturesResponse.results."""

    feature: str = string()
    error_code: int = int16()
    error_message: str | None = string(nullable=True)


class UpdateFeaturesResponse(Response, key=ApiKey.UPDATE_FEATURES):
    """Whether the levels were changed."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True)
    results: list[UpdatableFeatureResult] = array(UpdatableFeatureResult, until=1)

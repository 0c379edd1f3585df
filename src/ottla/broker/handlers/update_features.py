"""UpdateFeatures (api 57, v0-v2).

Versions: v1 kinds of upgrade, dry run · v2 one error for all.
Differs from Apache Kafka: the levels in force are those of the release and never change; to ask for them is fine, any
other is refused, downgrades included.
"""

from __future__ import annotations

from typing import Final

from ottla.broker.context import RequestContext
from ottla.broker.features import FEATURES
from ottla.protocol.apis.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from ottla.protocol.errors import ErrorCode

_UPGRADE_TYPES: Final = (1, 2, 3)
_FINALIZED: Final = {feature.name: feature.finalized for feature in FEATURES}


def handle(context: RequestContext, request: UpdateFeaturesRequest) -> UpdateFeaturesResponse:
    """Agree to the levels that are in force; one other level, and all are refused, as Kafka does."""
    refusals = (_refusal(update) for update in request.feature_updates)
    refused = next((refusal for refusal in refusals if refusal), None)
    if refused is not None:
        return UpdateFeaturesResponse(
            error_code=ErrorCode.INVALID_UPDATE_VERSION,
            error_message=f"no feature was updated: {refused}",
        )
    return UpdateFeaturesResponse(
        error_message=None,
        results=[
            UpdatableFeatureResult(feature=update.feature, error_message=None)
            for update in request.feature_updates
        ],
    )


def _refusal(update: FeatureUpdateKey) -> str | None:
    finalized = _FINALIZED.get(update.feature)
    if update.upgrade_type not in _UPGRADE_TYPES:
        return f"there is no upgrade type {update.upgrade_type} (for {update.feature})"
    if finalized is None:
        return f"there is no feature {update.feature} here"
    if update.max_version_level != finalized:
        return f"{update.feature} stays at level {finalized} in this release"
    return None

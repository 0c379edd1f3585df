"""ApiVersions (api 18, v0-v4).

Versions: v1 throttle time · v3 flexible, client software, features (KIP-511, KIP-584) · v4 features that begin at 0.
Differs from Apache Kafka: features that have no meaning here (metadata.version, kraft.version) are left out; a client
that calls itself ottla is told of ottla's own APIs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from ottla.broker.apis import ADVERTISED, OWN, Api
from ottla.broker.context import RequestContext
from ottla.broker.features import FEATURES, FINALIZED_EPOCH
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from ottla.protocol.errors import ErrorCode

_FIRST_WITH_SOFTWARE: Final = 3
_FIRST_WITH_MINIMUM_0: Final = 4
_OWN_SOFTWARE: Final = "ottla"
_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9.\-]*[a-zA-Z0-9])?")


def handle(context: RequestContext, request: ApiVersionsRequest) -> ApiVersionsResponse:
    """List the APIs served, to clients of ottla its own, too."""
    if context.version >= _FIRST_WITH_SOFTWARE and not _names_its_software(request):
        return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    is_own = request.client_software_name == _OWN_SOFTWARE
    return _served(is_own, context.version >= _FIRST_WITH_MINIMUM_0)


@cache
def _served(is_own: bool, knows_minimum_0: bool) -> ApiVersionsResponse:
    """The answer, which is the same for every connection and every broker of this release."""
    return ApiVersionsResponse(
        api_keys=[_row(api) for api in (ADVERTISED + OWN if is_own else ADVERTISED)],
        supported_features=[
            SupportedFeatureKey(
                name=feature.name,
                min_version=feature.min_version,
                max_version=feature.max_version,
            )
            for feature in FEATURES
            # Clients of v3 take a minimum of 0 for a malformed answer (KAFKA-17011).
            if feature.min_version > 0 or knows_minimum_0
        ],
        finalized_features_epoch=FINALIZED_EPOCH,
        finalized_features=[
            FinalizedFeatureKey(
                name=feature.name,
                min_version_level=feature.finalized,
                max_version_level=feature.finalized,
            )
            for feature in FEATURES
        ],
    )


def unsupported_version(apis: Mapping[int, Api]) -> ApiVersionsResponse:
    """The answer to a version from the future: which versions of ApiVersions itself are served (KIP-511)."""
    return ApiVersionsResponse(
        error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[_row(apis[ApiKey.API_VERSIONS])]
    )


def _names_its_software(request: ApiVersionsRequest) -> bool:
    return bool(
        _SOFTWARE.fullmatch(request.client_software_name)
        and _SOFTWARE.fullmatch(request.client_software_version)
    )


def _row(api: Api) -> ApiVersion:
    return ApiVersion(
        api_key=api.key, min_version=api.advertised_min_version, max_version=api.max_version
    )

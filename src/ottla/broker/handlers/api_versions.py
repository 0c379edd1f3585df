"""ApiVersions (api 18, v0-v4).

Versions: v1 throttle time · v3 flexible, client software, features (KIP-511, KIP-584) · v4 features that begin at 0.
Differs from Apache Kafka: no feature is advertised, as none of them (transaction.version, group.version,
metadata.version) is there yet.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from ottla.broker.context import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ottla.broker.apis import Api

_FIRST_WITH_SOFTWARE: Final = 3
_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9.\-]*[a-zA-Z0-9])?")


def handle(
    context: RequestContext, request: ApiVersionsRequest, apis: Iterable[Api]
) -> ApiVersionsResponse:
    """List the APIs served."""
    if context.version >= _FIRST_WITH_SOFTWARE and not _names_its_software(request):
        return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    return ApiVersionsResponse(api_keys=[_row(api) for api in apis])


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

"""Pure: ResetSink (api 10115, ottla's own): forget what a sink has committed, and abort what it has open.

Versions: v0.
"""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import Request, Response, int16, int32, string


class ResetSinkRequest(Request, key=ApiKey.RESET_SINK):
    """The sink."""

    sink_id: str = string()


class ResetSinkResponse(Response, key=ApiKey.RESET_SINK):
    """Whether it is forgotten."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(None, nullable=True)

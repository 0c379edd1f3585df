"""Pure: AbortTxnGroup (api 10113, ottla's own): nothing that the open slots of a sink have written counts.

Versions: v0.
"""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import Request, Response, int16, int32, string


class AbortTxnGroupRequest(Request, key=ApiKey.ABORT_TXN_GROUP):
    """The sink, and the generation that gives up."""

    sink_id: str = string()
    generation: int = int32()


class AbortTxnGroupResponse(Response, key=ApiKey.ABORT_TXN_GROUP):
    """Whether it is certain now."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(None, nullable=True)

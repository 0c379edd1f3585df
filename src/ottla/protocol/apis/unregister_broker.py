"""Pure: UnregisterBroker (api 64): forget a broker that will not come back (KIP-631)."""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import Request, Response, int16, int32, string


class UnregisterBrokerRequest(Request, key=ApiKey.UNREGISTER_BROKER):
    """The broker."""

    broker_id: int = int32()


class UnregisterBrokerResponse(Response, key=ApiKey.UNREGISTER_BROKER):
    """Whether it is forgotten."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True)

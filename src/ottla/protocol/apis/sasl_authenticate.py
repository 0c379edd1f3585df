"""Pure: SaslAuthenticate (api 36): one message of the SASL mechanism that SaslHandshake chose.

Versions: v1 how long the session lasts (KIP-368) · v2 flexible.
"""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import Request, Response, blob, int16, int64, string


class SaslAuthenticateRequest(Request, key=ApiKey.SASL_AUTHENTICATE):
    """What the client says."""

    auth_bytes: bytes = blob()

    def __repr__(self) -> str:
        return "SaslAuthenticateRequest(...)"  # it may be a password


class SaslAuthenticateResponse(Response, key=ApiKey.SASL_AUTHENTICATE):
    """What the broker answers."""

    error_code: int = int16()
    error_message: str | None = string(nullable=True)
    auth_bytes: bytes = blob()
    session_lifetime_ms: int = int64(since=1)

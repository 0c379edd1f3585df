"""Pure: SaslHandshake (api 17): choose the SASL mechanism; never flexible.

Versions: v1 authentication goes on in SaslAuthenticate requests.
"""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import Request, Response, array, int16, string


class SaslHandshakeRequest(Request, key=ApiKey.SASL_HANDSHAKE):
    """The mechanism the client wants."""

    mechanism: str = string()


class SaslHandshakeResponse(Response, key=ApiKey.SASL_HANDSHAKE):
    """The mechanisms there are."""

    error_code: int = int16()
    mechanisms: list[str] = array(string)

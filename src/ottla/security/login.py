"""Pure: how a client logs in: SaslHandshake, then SaslAuthenticate until all is said."""

from __future__ import annotations

from typing import Final

from ottla.protocol.apis.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from ottla.protocol.apis.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from ottla.protocol.errors import ErrorCode
from ottla.security.errors import LoginFailed
from ottla.security.mechanisms import Mechanism

REAUTHENTICATE_AFTER: Final = 0.85
"""Of a session's lifetime (KIP-368): what is begun then ends before the session does."""

NO_LOGIN: Final = (
    "does not ask clients to log in; use security.protocol=PLAINTEXT, or SSL if it speaks TLS"
)


class Login:
    """One conversation; `next` takes an answer, first None, and returns the request to send."""

    __slots__ = ("_mechanism", "lifetime_ms")

    def __init__(self, mechanism: Mechanism) -> None:
        self._mechanism = mechanism
        self.lifetime_ms = 0
        """How long the session lasts, once the conversation has ended; 0 is for ever."""

    def next(
        self, answer: SaslHandshakeResponse | SaslAuthenticateResponse | None
    ) -> SaslHandshakeRequest | SaslAuthenticateRequest | None:
        """The next request, None when the client is logged in; LoginFailed if it cannot be."""
        if answer is None:
            return SaslHandshakeRequest(mechanism=self._mechanism.name)
        if isinstance(answer, SaslHandshakeResponse):
            self._check_handshake(answer)
            said = b""
        else:
            self._check_answer(answer)
            self.lifetime_ms, said = answer.session_lifetime_ms, bytes(answer.auth_bytes)
        message = self._mechanism.respond(said)
        return None if message is None else SaslAuthenticateRequest(auth_bytes=message)

    def _check_handshake(self, answer: SaslHandshakeResponse) -> None:
        if answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
            offered = ", ".join(sorted(answer.mechanisms)) or "none"
            raise LoginFailed(
                f"does not offer sasl.mechanism={self._mechanism.name}; it offers: {offered}"
            )
        if answer.error_code == ErrorCode.ILLEGAL_SASL_STATE:
            raise LoginFailed(NO_LOGIN)
        if answer.error_code:
            raise LoginFailed(f"refused the login with error code {answer.error_code}")

    def _check_answer(self, answer: SaslAuthenticateResponse) -> None:
        if answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED:
            said = answer.error_message or "user name or password are wrong"
            raise LoginFailed(
                f"refused the login: {said.rstrip('.')}; check user and password in sasl.jaas.config"
            )
        if answer.error_code:
            why = answer.error_message or f"error code {answer.error_code}"
            raise LoginFailed(f"refused the login: {why}")

"""Pure: the SASL mechanisms a client can log in with; a conversation is an object with `respond`."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from ottla.security.errors import LoginFailed
from ottla.security.settings import OAUTHBEARER, PLAIN

_CLAIM_PREFIXES: Final[Mapping[str, Callable[[str], object]]] = {
    "unsecuredLoginStringClaim_": str,
    "unsecuredLoginNumberClaim_": float,
    "unsecuredLoginListClaim_": lambda text: text[1:].split(text[0]) if text else [],
}
_DEFAULT_LIFETIME_S: Final = 3600


class Mechanism(Protocol):
    """The client's half of a conversation."""

    @property
    def name(self) -> str:
        """What the mechanism is called."""

    def respond(self, challenge: bytes) -> bytes | None:
        """What to say, first to nothing, then to each answer; None when all is said."""


class PlainClient:
    """PLAIN (RFC 4616): name and password, for the eyes of whoever reads the connection."""

    __slots__ = ("_message", "name")

    def __init__(self, user: str, password: str) -> None:
        self.name = PLAIN
        self._message: bytes | None = f"\0{user}\0{password}".encode()

    def respond(self, challenge: bytes) -> bytes | None:
        """The one message."""
        message, self._message = self._message, None
        return message


class OauthBearerClient:
    """OAUTHBEARER (RFC 7628): a token that somebody else issued."""

    __slots__ = ("_message", "name")

    def __init__(self, token: str) -> None:
        self.name = OAUTHBEARER
        self._message: bytes | None = f"n,,\1auth=Bearer {token}\1\1".encode()

    def respond(self, challenge: bytes) -> bytes | None:
        """The token; a server that does not take it says why."""
        message, self._message = self._message, None
        if message is None and challenge:
            raise LoginFailed(f"does not accept the token: {challenge.decode(errors='replace')}")
        return message


def unsecured_token(options: Mapping[str, str], now_ms: int) -> str:
    """An unsigned token of the claims in the options of Kafka's OAuthBearerLoginModule, for tests."""
    claims: dict[str, object] = {}
    for name, text in options.items():
        for prefix, kind in _CLAIM_PREFIXES.items():
            if name.startswith(prefix):
                claims[name.removeprefix(prefix)] = kind(text)
    lifetime_s = int(options.get("unsecuredLoginLifetimeSeconds", _DEFAULT_LIFETIME_S))
    issued_s = now_ms / 1000
    claims |= {"iat": issued_s, "exp": issued_s + lifetime_s}
    return f"{_encoded({'alg': 'none'})}.{_encoded(claims)}."


def _encoded(value: Mapping[str, object]) -> str:
    compact = json.dumps(value, separators=(",", ":"))
    return urlsafe_b64encode(compact.encode()).decode().rstrip("=")

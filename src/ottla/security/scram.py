"""Pure: the client's half of SCRAM (RFC 5802, RFC 7677), as a machine of three steps."""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from typing import Final

from ottla.security.errors import LoginFailed

FEWEST_ITERATIONS: Final = 4096
"""Below it a stolen transcript is guessed at too cheaply; Kafka's clients refuse it, too."""
MOST_ITERATIONS: Final = 1_000_000
"""Whoever claims to be the broker says how long the client computes: no more than a second or so."""

_NO_CHANNEL_BINDING: Final = "n,,"


class ScramClient:
    """One conversation; `respond` takes what the server said and returns what to say, or None at its end."""

    __slots__ = ("_bare", "_hash", "_nonce", "_password", "_signature", "_step", "name")

    def __init__(self, name: str, hash_name: str, user: str, password: str, nonce: str) -> None:
        self.name = name
        self._hash = hash_name
        self._password = password
        self._nonce = nonce
        self._bare = f"n={_sasl_name(user)},r={nonce}"
        self._signature = b""
        self._step = 0

    def respond(self, challenge: bytes) -> bytes | None:
        """First with nothing, then with what the server answered; LoginFailed if that cannot be."""
        self._step += 1
        if self._step == 1:
            return (_NO_CHANNEL_BINDING + self._bare).encode()
        try:
            text = challenge.decode()
        except UnicodeDecodeError:
            raise LoginFailed(f"sent what is no message of {self.name}") from None
        if self._step == 2:
            return self._final(text)
        self._verify(_attributes(text))
        return None

    def _final(self, server_first: str) -> bytes:
        said = _attributes(server_first)
        nonce, salt, iterations = self._checked(said)
        salted = salted_password(self._hash, self._password, salt, iterations)
        binding = b64encode(_NO_CHANNEL_BINDING.encode()).decode()
        without_proof = f"c={binding},r={nonce}"
        message = f"{self._bare},{server_first},{without_proof}".encode()
        client_key = self._hmac(salted, b"Client Key")
        stored_key = hashlib.new(self._hash, client_key).digest()
        signature = self._hmac(stored_key, message)
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        self._signature = self._hmac(self._hmac(salted, b"Server Key"), message)
        return f"{without_proof},p={b64encode(proof).decode()}".encode()

    def _checked(self, said: dict[str, str]) -> tuple[str, bytes, int]:
        if "e" in said:
            raise LoginFailed(f"refused the login: {said['e']}")
        nonce, count = said.get("r", ""), said.get("i", "")
        if "m" in said or not nonce.startswith(self._nonce) or nonce == self._nonce:
            raise LoginFailed(f"sent what is no answer of {self.name} to this client")
        if not (count.isascii() and count.isdigit() and len(count) < 10):
            raise LoginFailed(f"sent what is no answer of {self.name} to this client")
        if not FEWEST_ITERATIONS <= int(count) <= MOST_ITERATIONS:
            raise LoginFailed(
                f"asked for {count} iterations, where {FEWEST_ITERATIONS} to {MOST_ITERATIONS} are "
                "reasonable; it may not be who it seems"
            )
        return nonce, _bytes(said.get("s", "")), int(count)

    def _verify(self, said: dict[str, str]) -> None:
        if "e" in said:
            raise LoginFailed(f"refused the login: {said['e']}")
        if not hmac.compare_digest(_bytes(said.get("v", "")), self._signature):
            raise LoginFailed("does not know the password itself; it may not be who it seems")

    def _hmac(self, key: bytes, message: bytes) -> bytes:
        return hmac.digest(key, message, self._hash)


def salted_password(hash_name: str, password: str, salt: bytes, iterations: int) -> bytes:
    """What both sides derive their keys from; the work of it is in the iterations."""
    return hashlib.pbkdf2_hmac(hash_name, password.encode(), salt, iterations)


def _sasl_name(user: str) -> str:
    return user.replace("=", "=3D").replace(",", "=2C")


def _attributes(text: str) -> dict[str, str]:
    """The letters of a message and their values; of a letter sent twice, the first counts."""
    found: dict[str, str] = {}
    for part in text.split(","):
        letter, _, value = part.partition("=")
        found.setdefault(letter, value)
    return found


def _bytes(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except (NotBase64, ValueError):
        raise LoginFailed("sent base64 that cannot be read") from None

"""Pure: from what a request says of its sender to the login that is made at the cluster.

The service has no users of its own: a name and a password (Basic) are those of the cluster, and every request is made
there with them. A wrong password is refused by the brokers.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping
from typing import Final

from ottla.http.server.callers import Caller
from ottla.http.server.errors import NO_LOGIN, HttpError
from ottla.http.settings import Cluster, HttpSettings

FREE_PATHS: Final = ("/health", "/ui/static/", "/docs", "/openapi.json")
_MECHANISMS: Final = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
_CALLER: Final = "caller"
_LONGEST: Final = 1000


def asks_for_login(cluster: Cluster) -> bool:
    """Whether clients of the cluster log in with a name."""
    return cluster.client.get("security.protocol", "").upper().startswith("SASL")


class Logins:
    """Who calls: whoever they say they are, where the cluster asks for that."""

    def __init__(self, settings: HttpSettings) -> None:
        secured = [each for each in settings.clusters if asks_for_login(each)]
        self.needed = settings.login == _CALLER and bool(secured)
        mechanism = secured[0].client.get("sasl.mechanism", "").upper() if secured else ""
        self._mechanism = mechanism if mechanism in _MECHANISMS else "SCRAM-SHA-512"

    def caller(self, address: str, path: str, headers: Mapping[str, str]) -> Caller:
        """The sender of a request; HttpError asks for a login."""
        if not self.needed or path.startswith(FREE_PATHS):
            return Caller(address)
        scheme, _, text = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "basic":
            raise _login_needed("the cluster asks for a login: send a name and a password")
        name, password = _name_and_password(text)
        return Caller(address, name, self._login(name, password), _key(name, password))

    def _login(self, name: str, password: str) -> dict[str, str]:
        module = _MECHANISMS[self._mechanism]
        return {
            "sasl.mechanism": self._mechanism,
            "sasl.jaas.config": f"{module} required username={_quoted(name)} password={_quoted(password)};",
        }


def _name_and_password(text: str) -> tuple[str, str]:
    try:
        if len(text) > _LONGEST:
            raise ValueError
        name, colon, password = (
            base64.b64decode(text.strip(), validate=True).decode().partition(":")
        )
    except (binascii.Error, ValueError):
        raise _login_needed("the login of the request cannot be read") from None
    if not name or not colon:
        raise _login_needed("the login of the request has no name")
    return name, password


def _key(name: str, password: str) -> str:
    """Tells clients apart: one with another password is another client."""
    return hashlib.sha256(f"{len(name)}:{name}{password}".encode()).hexdigest()


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _login_needed(why: str) -> HttpError:
    headers = {"www-authenticate": 'Basic realm="Kafka", charset="UTF-8"'}
    return HttpError(401, why, code=NO_LOGIN, headers=headers)

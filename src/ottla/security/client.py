"""What a client brings to each connection: its TLS context, and a fresh login."""

from __future__ import annotations

import secrets
import ssl
import time
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ottla.base.errors import ConfigError
from ottla.security.jaas import JaasEntry, parse_jaas
from ottla.security.login import Login
from ottla.security.mechanisms import (
    Mechanism,
    OauthBearerClient,
    PlainClient,
    unsecured_token,
)
from ottla.security.scram import ScramClient
from ottla.security.settings import (
    OAUTHBEARER,
    PLAIN,
    SCRAM_HASHES,
    SecuritySettings,
    example_login,
)
from ottla.security.tls import client_context

_NAME = "sasl.jaas.config"
_MODULES = {PLAIN: "PlainLoginModule", OAUTHBEARER: "OAuthBearerLoginModule"}
_NONCE_BYTES = 24


class ClientSecurity:
    """Made once for a client: files are read and checked then; ConfigError says what is wrong."""

    __slots__ = ("_entry", "_mechanism", "_token_file", "context")

    def __init__(self, settings: SecuritySettings) -> None:
        self.context: ssl.SSLContext | None = (
            client_context(settings) if settings.uses_tls else None
        )
        self._mechanism = ""
        if settings.uses_sasl:
            self._mechanism = settings.sasl_mechanism or ""
            self._entry = _entry(settings.sasl_jaas_config or "", self._mechanism)
            self._token_file = _path_of(settings.sasl_oauthbearer_token_endpoint_url)
            self._conversation()  # refused now rather than at the first connection

    def login(self) -> Login | None:
        """A fresh login, if the client has to."""
        return Login(self._conversation()) if self._mechanism else None

    def _conversation(self) -> Mechanism:
        if self._mechanism == OAUTHBEARER:
            return OauthBearerClient(self._token())
        user, password = (_option(self._entry, name) for name in ("username", "password"))
        if self._mechanism == PLAIN:
            return PlainClient(user, password)
        nonce = secrets.token_urlsafe(_NONCE_BYTES)
        return ScramClient(self._mechanism, SCRAM_HASHES[self._mechanism], user, password, nonce)

    def _token(self) -> str:
        if self._token_file is None:
            try:
                return unsecured_token(self._entry.options, time.time_ns() // 1_000_000)
            except ValueError:
                raise ConfigError(
                    _NAME, None, "a claim of the token that is a number is none"
                ) from None
        try:
            return self._token_file.read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "it is no text"
            raise ConfigError(
                "sasl.oauthbearer.token.endpoint.url",
                self._token_file,
                f"the token cannot be read: {why}",
            ) from None


def _entry(text: str, mechanism: str) -> JaasEntry:
    try:
        entry = parse_jaas(text)
    except ValueError as flaw:
        raise ConfigError(_NAME, None, str(flaw)) from None
    if entry.kind != _MODULES.get(mechanism, "ScramLoginModule"):
        raise ConfigError(
            _NAME,
            None,
            f"does not suit sasl.mechanism={mechanism}, which needs {example_login(mechanism)}",
        )
    if entry.options.get("tokenauth", "").lower() == "true":
        raise ConfigError(_NAME, None, "delegation tokens (tokenauth) are not supported")
    return entry


def _option(entry: JaasEntry, name: str) -> str:
    if not entry.options.get(name):
        raise ConfigError(_NAME, None, f'{name}="..." is missing')
    return entry.options[name]


def _path_of(url: str | None) -> Path | None:
    return None if url is None else Path(unquote(urlsplit(url).path))

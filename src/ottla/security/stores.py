"""Certificates and keys out of files, PEM or PKCS12, and into an SSLContext."""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from ottla.base.errors import ConfigError
from ottla.security.pem import with_lines
from ottla.security.settings import PEM, PKCS12, SecuritySettings, java_store

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates

_PEM_MARK: Final = b"-----BEGIN "
_JAVA_MARKS: Final = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")
"""How JKS and JCEKS begin."""
_DER_MARK: Final = b"\x30"


def load_trusted(context: ssl.SSLContext, settings: SecuritySettings) -> None:
    """Have the context trust what the settings name, else what the system trusts."""
    location, text = settings.ssl_truststore_location, settings.ssl_truststore_certificates
    if text is not None:
        _trust(context, with_lines(text), "ssl.truststore.certificates", None)
    elif location is None:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    else:
        content = _content("truststore", location)
        if _type("truststore", settings.ssl_truststore_type, location, content) == PEM:
            pem = content.decode("utf-8", errors="replace")
            _trust(context, pem, "ssl.truststore.location", location)
        else:
            found = _opened("truststore", location, content, settings.ssl_truststore_password)
            _trust(context, _certificates(found), "ssl.truststore.location", location)


def load_own(context: ssl.SSLContext, settings: SecuritySettings) -> None:
    """Have the context show the certificate of the settings, if there is one."""
    location, key = settings.ssl_keystore_location, settings.ssl_keystore_key
    if key is not None:
        pem = with_lines(f"{key}\n{settings.ssl_keystore_certificate_chain}").encode()
        _show(context, pem, settings.ssl_key_password, "ssl.keystore.key", None)
    elif location is not None:
        content = _content("keystore", location)
        password = settings.ssl_key_password
        if _type("keystore", settings.ssl_keystore_type, location, content) == PKCS12:
            opener = settings.ssl_keystore_password or password
            found = _opened("keystore", location, content, opener)
            content, password = _key_and_chain(found, location), None
        _show(context, content, password, "ssl.keystore.location", location)


def _content(sort: str, location: str) -> bytes:
    try:
        with open(location, "rb") as file:
            return file.read()
    except OSError as error:
        raise ConfigError(
            f"ssl.{sort}.location", location, f"cannot be read: {error.strerror}"
        ) from None


def _type(sort: str, stated: str | None, location: str, content: bytes) -> str:
    if content.startswith(_JAVA_MARKS):
        raise java_store(sort, location)
    found = PEM if _PEM_MARK in content else PKCS12 if content.startswith(_DER_MARK) else None
    if found is None or found != (stated or found):
        is_not = f"is no {stated} file" if stated else "is neither PEM nor PKCS12"
        hint = f"; it looks like {found}" if found else ""
        raise ConfigError(f"ssl.{sort}.location", location, is_not + hint)
    return found


def _trust(
    context: ssl.SSLContext, certificates: str | bytes, name: str, shown: str | None
) -> None:
    try:
        context.load_verify_locations(cadata=certificates)
    except (ssl.SSLError, ValueError):
        raise ConfigError(name, shown, "holds no certificate that can be read") from None


def _show(
    context: ssl.SSLContext, pem: bytes, password: str | None, name: str, shown: str | None
) -> None:
    try:
        with _as_file(pem) as path:
            # Never None: OpenSSL would ask whoever sits at the terminal.
            context.load_cert_chain(path, password=password or "")
    except ssl.SSLError as error:
        raise ConfigError(name, shown, _why_no_key(error, password)) from None
    except ValueError:  # a password that is too long
        raise ConfigError("ssl.key.password", None, "cannot be the password of a key") from None


def _why_no_key(error: ssl.SSLError, password: str | None) -> str:
    if error.reason == "KEY_VALUES_MISMATCH":
        return "the key and the certificate do not belong together"
    # What OpenSSL says of a wrong password depends on the sort of key, and on chance.
    if password is None:
        return (
            "must hold a private key and its certificate as PEM; if the key is encrypted, set "
            "ssl.key.password"
        )
    return "holds no private key and certificate that ssl.key.password opens; check the password"


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """A path to bytes, since OpenSSL takes keys from files alone: in memory where the system can."""
    if hasattr(os, "memfd_create"):
        with os.fdopen(os.memfd_create("ottla-key"), "wb") as file:
            file.write(content)
            file.flush()
            yield f"/proc/self/fd/{file.fileno()}"
    else:
        with tempfile.NamedTemporaryFile() as named:  # nobody else may read it
            named.write(content)
            named.flush()
            yield named.name


# --- PKCS12


def _opened(
    sort: str, location: str, content: bytes, password: str | None
) -> PKCS12KeyAndCertificates:
    try:
        from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12
    except ImportError:
        raise ConfigError(
            f"ssl.{sort}.location",
            location,
            "PKCS12 needs the package cryptography: pip install 'ottla[security]'; or use a PEM file",
        ) from None
    try:
        return load_pkcs12(content, None if password is None else password.encode())
    except ValueError:
        is_wrong = "does not open it" if password else "is missing"
        raise ConfigError(
            f"ssl.{sort}.location",
            location,
            f"cannot be opened as PKCS12: ssl.{sort}.password {is_wrong}, or the file is damaged",
        ) from None


def _certificates(store: PKCS12KeyAndCertificates) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    entries = [*([store.cert] if store.cert else []), *store.additional_certs]
    return b"".join(each.certificate.public_bytes(Encoding.DER) for each in entries)


def _key_and_chain(store: PKCS12KeyAndCertificates, location: str) -> bytes:
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    if store.key is None or store.cert is None:
        raise ConfigError("ssl.keystore.location", location, "holds no private key")
    key = store.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    chain = [store.cert, *store.additional_certs]
    return key + b"".join(each.certificate.public_bytes(Encoding.PEM) for each in chain)

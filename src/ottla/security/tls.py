"""The TLS context of a client."""

from __future__ import annotations

import ssl
from typing import Final

from ottla.security.settings import HTTPS, SecuritySettings
from ottla.security.stores import load_own, load_trusted

_VERSIONS: Final = {
    "TLSv1.2": ssl.TLSVersion.TLSv1_2,
    "TLSv1.3": ssl.TLSVersion.TLSv1_3,
}


def client_context(settings: SecuritySettings) -> ssl.SSLContext:
    """The context that the settings ask for; ConfigError where a file or a password is wrong."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    versions = sorted(_VERSIONS[name] for name in settings.ssl_enabled_protocols)
    context.minimum_version, context.maximum_version = versions[0], versions[-1]
    context.check_hostname = settings.ssl_endpoint_identification_algorithm == HTTPS
    # As Java does: what is in the truststore is trusted, whoever issued it.
    context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
    load_trusted(context, settings)
    load_own(context, settings)
    return context

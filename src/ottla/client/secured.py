"""From a client's settings to what its connections need for TLS and SASL, if they need anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.security.settings import PLAINTEXT, SecuritySettings

if TYPE_CHECKING:
    from ottla.security.client import ClientSecurity


def security_of(settings: SecuritySettings) -> ClientSecurity | None:
    """None where connections are in the clear: then nothing of TLS and SASL is imported."""
    if settings.security_protocol == PLAINTEXT:
        return None
    from ottla.security.client import ClientSecurity

    return ClientSecurity(settings)

"""Pure: sentences for what OpenSSL says of the other side; each continues one that begins with its address."""

from __future__ import annotations

import ssl
from typing import Final

_NOT_YET_VALID: Final = 9
_EXPIRED: Final = 10
_OTHER_HOST: Final = (62, 64)
"""X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH."""

NO_TLS: Final = (
    "does not speak TLS; use security.protocol=PLAINTEXT (or SASL_PLAINTEXT), or the port of a TLS "
    "listener"
)
_ALERTS: Final = {
    "CERTIFICATE_REQUIRED": "asks for a certificate of this client; name one with ssl.keystore.location",
    "CERTIFICATE_EXPIRED": "refused the certificate of this client, since it has expired",
    "UNKNOWN_CA": "does not trust the authority that issued the certificate of this client",
    "CERTIFICATE": "refused the certificate of this client, or that it shows none; check ssl.keystore.location",
    "HANDSHAKE_FAILURE": "refused the TLS handshake; it may ask for a certificate of this client "
    "(ssl.keystore.location), or know no cipher that this client knows",
    "PROTOCOL_VERSION": "speaks none of the versions of TLS in ssl.enabled.protocols",
    "UNSUPPORTED_PROTOCOL": "speaks none of the versions of TLS in ssl.enabled.protocols",
    "WRONG_VERSION_NUMBER": NO_TLS,
    "HTTP_REQUEST": NO_TLS,
}
"""Parts of OpenSSL's reasons, the more telling first."""

CLOSED_IN_HANDSHAKE: Final = (
    "closed the connection instead of speaking TLS; it may be stopping, or its listener is without "
    "TLS: then use security.protocol=PLAINTEXT or SASL_PLAINTEXT"
)


def why_refused(error: ssl.SSLError) -> str | None:
    """Why the two sides do not trust each other, to stand behind the broker's address; None if unknown."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return _why_untrusted(error)
    reason = error.reason or ""
    return next((text for part, text in _ALERTS.items() if part in reason), None)


def _why_untrusted(error: ssl.SSLCertVerificationError) -> str:
    said = error.verify_message.rstrip(".")
    if error.verify_code in _OTHER_HOST:
        return (
            f"has a certificate for another name ({said}); connect by a name that it is for, or set "
            "ssl.endpoint.identification.algorithm to nothing, which checks no names"
        )
    if error.verify_code == _EXPIRED:
        return "has a certificate that has expired; its operator must renew it (or this clock is wrong)"
    if error.verify_code == _NOT_YET_VALID:
        return "has a certificate that is not valid yet; check the clocks of both sides"
    return (
        f"has a certificate that is not trusted ({said}); name the certificate of its authority with "
        "ssl.truststore.location"
    )

"""What OpenSSL says, in words that help."""

import ssl

import pytest

from ottla.security.tls_errors import why_refused


def said(reason: str) -> ssl.SSLError:
    error = ssl.SSLError(1, reason)
    error.reason = reason
    return error


def unverified(code: int) -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_code, error.verify_message = code, "as OpenSSL puts it."
    return error


@pytest.mark.parametrize(
    ("reason", "why"),
    [
        ("TLSV13_ALERT_CERTIFICATE_REQUIRED", "asks for a certificate of this client"),
        ("SSLV3_ALERT_BAD_CERTIFICATE", "refused the certificate of this client"),
        ("SSLV3_ALERT_CERTIFICATE_EXPIRED", "since it has expired"),
        ("TLSV1_ALERT_UNKNOWN_CA", "does not trust the authority"),
        ("SSLV3_ALERT_HANDSHAKE_FAILURE", "refused the TLS handshake"),
        ("TLSV1_ALERT_PROTOCOL_VERSION", "ssl.enabled.protocols"),
        ("WRONG_VERSION_NUMBER", "does not speak TLS"),
    ],
)
def test_alerts(reason: str, why: str) -> None:
    assert why in (why_refused(said(reason)) or "")


def test_an_alert_that_nobody_knows() -> None:
    assert why_refused(said("SOMETHING_NEW")) is None


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (9, "not valid yet"),
        (10, "has expired"),
        (62, "for another name (as OpenSSL puts it);"),
        (64, "ssl.endpoint.identification.algorithm to nothing"),
        (20, "not trusted (as OpenSSL puts it); name the certificate of its authority"),
    ],
)
def test_certificates_that_do_not_pass(code: int, why: str) -> None:
    assert why in (why_refused(unverified(code)) or "")

"""From what went wrong below to an error that says whether to try again, and what to change."""

import errno
import socket
import ssl

import pytest

from ottla.client.errors import (
    AuthenticationFailed,
    BrokerUnreachable,
    ClientError,
    ConnectionLost,
    NotKafka,
)
from ottla.client.refusals import lost_unanswered, lost_unserved, tls_failed, unreachable

ADDRESS = "kafka-1:9093"


def of_tls(reason: str) -> ssl.SSLError:
    error = ssl.SSLError(1, reason)
    error.reason = reason
    return error


@pytest.mark.parametrize(
    ("error", "kind", "why"),
    [
        (socket.gaierror(-2, "Name or service not known"), BrokerUnreachable, "name is unknown"),
        (OSError(errno.ECONNREFUSED, "Connection refused"), BrokerUnreachable, "nothing listens"),
        (OSError(errno.EHOSTUNREACH, "No route to host"), BrokerUnreachable, "No route to host"),
        (ConnectionResetError(), BrokerUnreachable, "instead of speaking TLS"),
        (ssl.SSLEOFError(8, "EOF"), BrokerUnreachable, "instead of speaking TLS"),
        (of_tls("WRONG_VERSION_NUMBER"), NotKafka, "does not speak TLS"),
        (of_tls("SSLV3_ALERT_BAD_CERTIFICATE"), AuthenticationFailed, "certificate of this client"),
        (of_tls("SOMETHING_NEW"), AuthenticationFailed, "TLS handshake: SOMETHING_NEW"),
    ],
)
def test_connections_that_do_not_come_about(
    error: OSError, kind: type[ClientError], why: str
) -> None:
    told = unreachable(ADDRESS, error, tls=True)
    assert type(told) is kind
    assert why in str(told)
    assert ADDRESS in str(told)


def test_a_port_that_refuses_is_told_apart() -> None:
    told = unreachable(ADDRESS, OSError(errno.ECONNREFUSED, "Connection refused"))
    assert isinstance(told, BrokerUnreachable)
    assert told.refused


def test_connections_that_end_before_an_answer() -> None:
    late = lost_unanswered(ADDRESS, b"", of_tls("TLSV13_ALERT_CERTIFICATE_REQUIRED"), tls=True)
    assert str(late) == str(tls_failed(ADDRESS, of_tls("TLSV13_ALERT_CERTIFICATE_REQUIRED")))
    silent = lost_unanswered(ADDRESS, b"", None, tls=False)
    assert isinstance(silent, ConnectionLost)
    assert "security.protocol=SSL or SASL_SSL" in str(silent)
    assert "security.protocol" not in str(lost_unanswered(ADDRESS, b"", None, tls=True))
    alert = lost_unanswered(ADDRESS, b"\x15\x03\x03", None, tls=False)
    assert "speaks TLS; use security.protocol=SSL" in str(alert)


@pytest.mark.parametrize(("tls", "protocol"), [(True, "SASL_SSL,"), (False, "SASL_PLAINTEXT,")])
def test_a_login_may_be_what_is_missing(tls: bool, protocol: str) -> None:
    assert f"security.protocol={protocol}" in str(lost_unserved(ADDRESS, tls=tls))

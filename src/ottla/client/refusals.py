"""From what the system, TLS or a stranger says to an error with a sentence for a person."""

from __future__ import annotations

import errno
import re
import socket
import ssl

from ottla.client.errors import (
    AuthenticationFailed,
    BrokerUnreachable,
    ClientError,
    ConnectionLost,
    NotKafka,
)
from ottla.security.tls_errors import CLOSED_IN_HANDSHAKE, NO_TLS, why_refused


def unreachable(address: str, error: OSError, *, tls: bool = False) -> ClientError:
    """Why no connection came about."""
    if isinstance(error, socket.gaierror):
        return BrokerUnreachable(
            f"{address} cannot be reached: the name is unknown ({error.strerror}); check its spelling"
        )
    reasons = _errnos(error)
    if errno.ECONNREFUSED in reasons:
        return BrokerUnreachable(
            f"nothing listens on {address}; check that the broker runs and that host and port are right",
            # Without IPv6, the other address of the name cannot even be tried.
            refused=reasons <= {errno.ECONNREFUSED, errno.EADDRNOTAVAIL},
        )
    if tls and isinstance(error, ssl.SSLError | ConnectionError):
        return tls_failed(address, error)
    return BrokerUnreachable(f"{address} cannot be reached: {error.strerror or error}")


def tls_failed(address: str, error: OSError) -> ClientError:
    """Why the two sides came to no agreement over TLS."""
    if not isinstance(error, ssl.SSLError) or isinstance(error, ssl.SSLEOFError):
        return BrokerUnreachable(f"{address} {CLOSED_IN_HANDSHAKE}")
    why = why_refused(error)
    if why == NO_TLS:
        return NotKafka(f"{address} {why}")
    return AuthenticationFailed(f"{address} {why or f'failed the TLS handshake: {error.reason}'}")


def lost_unanswered(
    address: str, seen: bytes, error: Exception | None, *, tls: bool
) -> ClientError:
    """Why a connection ended before the broker had said what it speaks."""
    if tls and isinstance(
        error, ssl.SSLError
    ):  # with TLS 1.3 a client's certificate is refused late
        return tls_failed(address, error)
    if seen:
        return NotKafka(f"{address} {what_speaks(seen)}")
    why = f": {error}" if error else ""
    hint = (
        "be no Kafka broker"
        if tls
        else "expect TLS (security.protocol=SSL or SASL_SSL), or be no Kafka broker"
    )
    return ConnectionLost(
        f"{address} closed the connection before it answered{why}; it may be stopping, {hint}"
    )


def lost_unserved(address: str, *, tls: bool) -> ConnectionLost:
    """A broker that said what it speaks, and hung up at the first request of a client without a login."""
    protocol = "SASL_SSL" if tls else "SASL_PLAINTEXT"
    return ConnectionLost(
        f"the broker at {address} closed the connection at the first request; it may be stopping, or "
        f"expect clients to log in: then use security.protocol={protocol}, with sasl.mechanism and "
        "sasl.jaas.config"
    )


def what_speaks(seen: bytes) -> str:
    """What is at the other end, by its first bytes."""
    if seen.startswith((b"HTTP", b"<")):  # a page, where the request was taken for HTTP 0.9
        return "speaks HTTP, not Kafka's protocol; use the port of a Kafka listener"
    if seen[:1] in (b"\x15", b"\x16") and seen[1:2] == b"\x03":
        return "speaks TLS; use security.protocol=SSL, or SASL_SSL if it expects clients to log in"
    return f"does not speak Kafka's protocol: it answered {seen[:40]!r}; check the port"


def _errnos(error: OSError) -> set[int]:
    """Why each address of a name could not be reached; asyncio tells of several only in text."""
    if isinstance(error, ssl.SSLError):  # whose numbers are OpenSSL's own
        return set()
    found = {int(number) for number in re.findall(r"\[Errno (\d+)\]", str(error))}
    return found | ({error.errno} if error.errno else set())

"""A blocking socket to one broker, for tasks: they have one thread and one partition at a time."""

from __future__ import annotations

import math
import socket
import time
from collections import deque
from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from ottla.base.errors import ProtocolError
from ottla.client.connection import LARGEST_RESPONSE_BYTES
from ottla.client.errors import AuthenticationFailed, ConnectionLost, RequestTimedOut
from ottla.client.refusals import unreachable
from ottla.config.listeners import Address
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.api_versions import ApiVersionsRequest
from ottla.protocol.codec import decode_response, encode_request
from ottla.protocol.schema import Request

if TYPE_CHECKING:
    from ottla.security.client import ClientSecurity

_LENGTH: Final = Struct(">i")
_ID: Final = Struct(">i")
_GREETING_VERSION: Final = 0
"""Every broker speaks it."""
_SMALLEST_BUFFER_BYTES: Final = 64 * 1024


class BrokerSocket:
    """Requests go out at once, answers are read in the same order; any failure ends the socket.

    The bytes of an answer are good until the next answer is read: both share one buffer.
    """

    def __init__(
        self,
        address: Address,
        client_id: str | None,
        timeout_s: float,
        security: ClientSecurity | None = None,
    ) -> None:
        self.address = address
        self.closed = False
        self._client_id = client_id
        self._correlation_id = 0
        self._waiting: deque[tuple[int, ApiKey, int]] = deque()
        self._buffer = bytearray(_SMALLEST_BUFFER_BYTES)
        self._expires = math.inf
        self._socket = _connected(address, timeout_s, security)
        answer = self.ask(ApiVersionsRequest(), _GREETING_VERSION, timeout_s)
        self._versions: dict[int, int] = {row.api_key: row.max_version for row in answer.api_keys}
        if security is not None:
            self._log_in(security, timeout_s)

    @property
    def in_flight(self) -> int:
        """How many answers are still to come."""
        return len(self._waiting)

    @property
    def expiring(self) -> bool:
        """Whether the login is about to end: a new socket is better than one that breaks in use."""
        return time.monotonic() > self._expires

    def _log_in(self, security: ClientSecurity, timeout_s: float) -> None:
        from ottla.security.errors import LoginFailed
        from ottla.security.login import NO_LOGIN, REAUTHENTICATE_AFTER

        login = security.login()
        if login is None:
            return
        try:
            if ApiKey.SASL_HANDSHAKE not in self._versions:
                raise LoginFailed(NO_LOGIN)
            request = login.next(None)
            while request is not None:
                answer = self.ask(request, self.version_of(request.api_key), timeout_s)
                request = login.next(answer)
        except LoginFailed as refusal:
            self.close()
            raise AuthenticationFailed(f"the broker at {self.address} {refusal}") from None
        if login.lifetime_ms > 0:
            self._expires = time.monotonic() + login.lifetime_ms / 1000 * REAUTHENTICATE_AFTER

    def version_of(self, key: ApiKey, most: int | None = None) -> int:
        """The highest version that both sides know, and no higher than `most`."""
        return min(self._versions.get(key, 0), key.last_version if most is None else most)

    def ask(self, request: Request, version: int, timeout_s: float) -> Any:
        """Send a request and wait for its answer."""
        self.send(request, version)
        return self.receive(timeout_s)

    def send(self, request: Request, version: int) -> None:
        """Send a request; its answer is for `receive`."""
        self._correlation_id += 1
        frame = encode_request(request, version, self._correlation_id, self._client_id)
        try:
            self._socket.sendall(frame)
        except OSError as error:
            self.close()
            raise ConnectionLost(f"the connection to {self.address} was lost: {error}") from error
        self._waiting.append((self._correlation_id, request.api_key, version))

    def receive(self, timeout_s: float) -> Any:
        """The answer to the oldest request that has none."""
        correlation_id, key, version = self._waiting.popleft()
        deadline = time.monotonic() + timeout_s
        try:
            frame = self._frame(key, deadline)
            if len(frame) < _ID.size or _ID.unpack_from(frame)[0] != correlation_id:
                raise ConnectionLost(f"{self.address} sent what answers no request")
            return decode_response(key, version, frame)[1]
        except ProtocolError as error:
            self.close()
            raise ConnectionLost(f"{self.address} sent what cannot be read: {error}") from error
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the socket."""
        self.closed = True
        self._socket.close()

    def _frame(self, key: ApiKey, deadline: float) -> memoryview:
        (size,) = _LENGTH.unpack(self._exactly(_LENGTH.size, key, deadline))
        if not 0 < size <= LARGEST_RESPONSE_BYTES:
            raise ConnectionLost(f"{self.address} sent a frame of {size} bytes")
        return self._exactly(size, key, deadline)

    def _exactly(self, size: int, key: ApiKey, deadline: float) -> memoryview:
        if size > len(self._buffer):
            self._buffer = bytearray(size)
        wanted = memoryview(self._buffer)[:size]
        filled = 0
        while filled < size:
            left_s = deadline - time.monotonic()
            try:
                self._socket.settimeout(max(0.001, left_s))
                received = self._socket.recv_into(wanted[filled:])
            except TimeoutError:
                raise RequestTimedOut(f"{self.address} did not answer {key.api_name}") from None
            except OSError as error:
                raise ConnectionLost(
                    f"the connection to {self.address} was lost: {error}"
                ) from error
            if not received:
                raise ConnectionLost(f"the broker at {self.address} closed the connection")
            filled += received
        return wanted


def _connected(
    address: Address, timeout_s: float, security: ClientSecurity | None
) -> socket.socket:
    context = None if security is None else security.context
    try:
        made = socket.create_connection((address.host, address.port), timeout_s)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if context is None:
            return made
        try:
            return context.wrap_socket(made, server_hostname=address.host)
        except BaseException:
            made.close()
            raise
    except OSError as error:
        raise unreachable(str(address), error, tls=context is not None) from error

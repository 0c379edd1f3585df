"""One socket to one broker: requests go out at once, answers come back in the same order."""

from __future__ import annotations

import asyncio
import random
import struct
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from ottla._version import __version__
from ottla.base.errors import ConfigError, ProtocolError
from ottla.client.errors import (
    AuthenticationFailed,
    BrokerUnreachable,
    ClientError,
    ConnectionLost,
    NotKafka,
    RequestTimedOut,
    UnsupportedByBroker,
)
from ottla.client.inbox import Inbox
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ottla.protocol.codec import decode_response, encode_request
from ottla.protocol.errors import ErrorCode
from ottla.protocol.header import begin_request, parse_response_header
from ottla.protocol.schema import Request

if TYPE_CHECKING:
    from ottla.security.client import ClientSecurity

Buffer: TypeAlias = bytes | bytearray | memoryview

LARGEST_RESPONSE_BYTES: Final = 256 * 1024 * 1024
"""What claims to be longer is no answer of a broker: fetches end at fetch.max.bytes and one batch."""

JOINED_BYTES: Final = 64 * 1024
"""Below this a copy is cheaper than a system call for each piece (asyncio itself always copies)."""

CLOSE_TIMEOUT_S: Final = 5.0
"""How long a broker that reads nothing may hold up a close."""

TLS_SHUTDOWN_TIMEOUT_S: Final = 1.0
"""How long a broker may take to say good-bye in TLS."""

LATEST_RENEWAL: Final = 0.95
"""Of a session's lifetime; like Kafka's clients, those that came together renew their logins apart."""

PROMPT_BEFORE_END_S: Final = 0.5
"""When a server that is silent is asked in text what it is, before it is given up."""

_LENGTH: Final = struct.Struct(">i")
_ERROR_CODE: Final = struct.Struct(">h")
_ID_BYTES: Final = 4
_MOST_CORRELATION_ID: Final = 2**31 - 1


class _Waiting:
    """A request whose answer is still to come."""

    __slots__ = ("correlation_id", "future", "key", "read", "version")

    def __init__(
        self,
        correlation_id: int,
        key: ApiKey,
        version: int,
        read: Callable[[ApiKey, int, Buffer], Any],
        future: asyncio.Future[Any],
    ) -> None:
        self.correlation_id = correlation_id
        self.key = key
        self.version = version
        self.read = read
        self.future = future


class Connection(asyncio.BufferedProtocol):
    """A connection that knows what its broker speaks; made by `Connection.open`."""

    def __init__(
        self, host: str, port: int, client_id: str | None, security: ClientSecurity | None = None
    ) -> None:
        self.address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self.versions: dict[int, tuple[int, int]] = {}
        self.api_versions = ApiVersionsResponse()
        self.closed = False
        self._client_id = client_id
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._waiting: deque[_Waiting] = deque()
        self._correlation_id = 0
        self._inbox = Inbox()
        self._writable = asyncio.Event()
        self._writable.set()
        self._gone = self._loop.create_future()
        self._failure: ClientError | None = None
        self._security = security
        self._served = False  # anything but ApiVersions, so far
        self._held: list[tuple[_Waiting | None, Sequence[Buffer]]] | None = None
        self._renewal: asyncio.TimerHandle | None = None
        self._renewing: asyncio.Task[None] | None = None

    # --- opening and closing

    @classmethod
    async def open(
        cls,
        host: str,
        port: int,
        *,
        client_id: str | None = None,
        timeout_ms: float = 10_000,
        security: ClientSecurity | None = None,
    ) -> Connection:
        """Connect, trying each address of the name in turn, learn what the broker speaks, log in."""
        made = cls(host, port, client_id, security)
        deadline = made._loop.time() + timeout_ms / 1000
        await made._connect(host, port, timeout_ms)
        try:
            await made._greet((deadline - made._loop.time()) * 1000)
            if security is not None:
                await made._log_in((deadline - made._loop.time()) * 1000)
        except BaseException:
            await made.close()
            raise
        return made

    async def _connect(self, host: str, port: int, timeout_ms: float) -> None:
        options: dict[str, Any] = {}
        if self._tls:
            assert self._security is not None
            options = {
                "ssl": self._security.context,
                "server_hostname": host,
                "ssl_shutdown_timeout": TLS_SHUTDOWN_TIMEOUT_S,
            }
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await self._loop.create_connection(lambda: self, host, port, **options)
        except TimeoutError:
            accept = "complete a TLS handshake" if self._tls else "accept a connection"
            raise BrokerUnreachable(
                f"{self.address} did not {accept} within {timeout_ms:.0f} ms; "
                "check the address, and that no firewall drops packets to it"
            ) from None
        except OSError as error:
            from ottla.client.refusals import unreachable

            raise unreachable(self.address, error, tls=self._tls) from error

    @property
    def _tls(self) -> bool:
        return self._security is not None and self._security.context is not None

    async def close(self) -> None:
        """Close the socket; whoever still waits for an answer gets ConnectionLost."""
        ended = ConnectionLost(f"the connection to {self.address} was closed by this client")
        self._end(ended, flush=True)
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await asyncio.shield(self._gone)
        except TimeoutError:
            assert self._transport is not None
            self._transport.abort()

    async def lost(self) -> None:
        """Wait until the connection has ended, whoever ended it."""
        await asyncio.shield(self._gone)

    async def _greet(self, timeout_ms: float) -> None:
        request = ApiVersionsRequest(
            client_software_name="ottla", client_software_version=__version__
        )
        version = ApiKey.API_VERSIONS.last_version
        deadline = self._loop.time() + timeout_ms / 1000
        while True:
            left_ms = max(1.0, (deadline - self._loop.time()) * 1000)
            # Where there is less time in all, half of it: a broker takes the prompt for a broken frame.
            before_end_s = min(PROMPT_BEFORE_END_S, left_ms / 2000)
            prompt = self._loop.call_at(deadline - before_end_s, self._prompt)
            try:
                response = await self.ask(request, version=version, timeout_ms=left_ms)
            finally:
                prompt.cancel()
            served = {row.api_key: (row.min_version, row.max_version) for row in response.api_keys}
            if response.error_code == ErrorCode.UNSUPPORTED_VERSION and version > 0:
                # KIP-511: the refusal is in version 0 and may say what the broker does know.
                highest = served.get(ApiKey.API_VERSIONS, (0, 0))[1]
                version = min(version - 1, highest)
                continue
            if response.error_code:
                raise NotKafka(f"{self.address} refused ApiVersions with {response.error_code}")
            self.versions, self.api_versions = served, response
            return

    def _prompt(self) -> None:
        """End a line: a server of text, such as HTTP, waits for that before it says what it is."""
        if not self.closed:
            self._write(b"\r\n\r\n")

    # --- logging in

    async def _log_in(self, timeout_ms: float | None = None) -> None:
        """Log in, if the client has to, and again in time if the session ends by itself (KIP-368)."""
        from ottla.security.errors import LoginFailed
        from ottla.security.login import NO_LOGIN, REAUTHENTICATE_AFTER

        assert self._security is not None
        try:
            login = self._security.login()
            if login is None:
                return
            if not self.serves(ApiKey.SASL_HANDSHAKE):
                raise LoginFailed(NO_LOGIN)
            async with asyncio.timeout(None if timeout_ms is None else timeout_ms / 1000):
                request = login.next(None)
                while request is not None:
                    answer = await self._say(request)
                    # A thread: SCRAM makes the client compute.
                    request = await asyncio.to_thread(login.next, answer)
        except ConfigError as error:  # a token that is no longer there
            raise AuthenticationFailed(str(error)) from None
        except LoginFailed as refusal:
            raise AuthenticationFailed(f"the broker at {self.address} {refusal}") from None
        except TimeoutError:
            raise RequestTimedOut(
                f"{self.address} did not complete the login within {timeout_ms:.0f} ms"
            ) from None
        if login.lifetime_ms > 0:
            share = random.uniform(REAUTHENTICATE_AFTER, LATEST_RENEWAL)
            self._renewal = self._loop.call_later(login.lifetime_ms / 1000 * share, self._renew)

    def _renew(self) -> None:
        """Log in again; until that has ended a broker takes no other requests, so they are held back."""
        if not self.closed:
            self._held = []
            self._renewing = self._loop.create_task(self._log_in_again())

    async def _log_in_again(self) -> None:
        try:
            # Without a limit: what is in flight may take long, and what is held has limits of its own.
            await self._log_in()
        except ClientError as error:
            self._end(error)
        held, self._held = self._held or [], None
        if not self.closed:
            for waiting, pieces in held:
                self._put(waiting, pieces)

    async def _say(self, request: Request) -> Any:
        """Send a request of the login, which goes before what is held back."""
        waiting, frame = self._prepared(request, self.version_of(request.api_key))
        self._waiting.append(waiting)
        self._write(frame)
        return await waiting.future

    # --- asking

    def version_of(self, key: ApiKey, most: int | None = None) -> int:
        """The highest version of an API that both sides know, and no higher than `most`."""
        if key not in self.versions:
            raise UnsupportedByBroker(f"the broker at {self.address} does not serve {key.api_name}")
        lowest, highest = self.versions[key]
        version = min(highest, key.last_version if most is None else most)
        if version < max(lowest, key.first_version):
            raise UnsupportedByBroker(
                f"the broker at {self.address} serves versions {lowest} to {highest} of "
                f"{key.api_name}, this client knows {key.first_version} to {key.last_version}"
            )
        return version

    def serves(self, key: ApiKey) -> bool:
        """Whether the broker serves a version of the API that this client knows."""
        lowest, highest = self.versions.get(key, (0, -1))
        return max(lowest, key.first_version) <= min(highest, key.last_version)

    async def ask(
        self, request: Request, *, version: int | None = None, timeout_ms: float | None = None
    ) -> Any:
        """Send a request and return its typed response."""
        future = self.send(request, version=version)
        return await self._answer(future, request.api_key, timeout_ms)

    def send(self, request: Request, *, version: int | None = None) -> asyncio.Future[Any]:
        """Send a request now; the future becomes its typed response."""
        if version is None:
            version = self.version_of(request.api_key)
        waiting, frame = self._prepared(request, version)
        self._put(waiting, (frame,))
        return waiting.future

    async def ask_raw(
        self, key: ApiKey, version: int, body: Sequence[Buffer], *, timeout_ms: float | None = None
    ) -> memoryview:
        """Send a body made by hand and return that of the response, a view that may be kept."""
        view: memoryview = await self._answer(self.send_raw(key, version, body), key, timeout_ms)
        return view

    def send_raw(self, key: ApiKey, version: int, body: Sequence[Buffer]) -> asyncio.Future[Any]:
        """Send a body made by hand, in pieces; the future becomes a view of the response's body."""
        correlation_id = self._next_correlation_id()
        waiting = self._expected(correlation_id, key, version, _read_body)
        self._put(waiting, self._framed(key, version, correlation_id, body))
        return waiting.future

    def send_unanswered(self, key: ApiKey, version: int, body: Sequence[Buffer]) -> None:
        """Send what a broker does not answer: Produce with acks=0."""
        if self._failure is not None:
            raise self._failure.with_traceback(None)
        self._put(None, self._framed(key, version, self._next_correlation_id(), body))

    async def writable(self) -> None:
        """Wait until what was sent before has mostly left this process."""
        await self._writable.wait()
        if self._failure is not None:
            raise self._failure.with_traceback(None)

    @property
    def in_flight(self) -> int:
        """How many requests wait for their answers."""
        return len(self._waiting) + len(self._held or ())

    def _prepared(self, request: Request, version: int) -> tuple[_Waiting, bytes | bytearray]:
        correlation_id = self._next_correlation_id()
        frame = encode_request(request, version, correlation_id, self._client_id)
        return self._expected(correlation_id, request.api_key, version, _read_typed), frame

    def _framed(
        self, key: ApiKey, version: int, correlation_id: int, body: Sequence[Buffer]
    ) -> Sequence[Buffer]:
        head = begin_request(key, version, correlation_id, self._client_id)
        size = len(head) - _LENGTH.size + sum(map(len, body))
        _LENGTH.pack_into(head, 0, size)
        return (head, *body)

    def _expected(
        self, correlation_id: int, key: ApiKey, version: int, read: Callable[..., Any]
    ) -> _Waiting:
        if self._failure is not None:
            raise self._failure.with_traceback(None)
        return _Waiting(correlation_id, key, version, read, self._loop.create_future())

    def _put(self, waiting: _Waiting | None, pieces: Sequence[Buffer]) -> None:
        if self._held is not None:
            self._held.append((waiting, pieces))
            return
        if waiting is not None:
            self._waiting.append(waiting)
        self._write(*pieces)

    async def _answer(
        self, future: asyncio.Future[Any], key: ApiKey, timeout_ms: float | None
    ) -> Any:
        if timeout_ms is None:
            return await future
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                return await future
        except TimeoutError:
            late = RequestTimedOut(
                f"{self.address} did not answer {key.api_name} within {timeout_ms:.0f} ms; "
                "the broker may be overloaded or stopped, or another program holds that port"
            )
            # Answers come in order: what waits behind a request that is stuck is stuck as well.
            self._end(ConnectionLost(f"the connection to {self.address} was given up: {late}"))
            raise late from None

    def _next_correlation_id(self) -> int:
        self._correlation_id = (self._correlation_id + 1) & _MOST_CORRELATION_ID
        return self._correlation_id

    def _write(self, *pieces: Buffer) -> None:
        assert self._transport is not None  # `open` hands nobody a connection without one
        if len(pieces) > 1 and sum(map(len, pieces)) <= JOINED_BYTES:
            pieces = (b"".join(pieces),)
        for piece in pieces:
            self._transport.write(piece)

    # --- what the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is connected."""
        # Not asserted: uvloop's transports are of no class of asyncio's.
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, error: Exception | None) -> None:
        """The socket is gone."""
        if self._failure is None:
            self._end(self._lost(error))
        if not self._gone.done():
            self._gone.set_result(None)

    def eof_received(self) -> bool:
        """The broker closed its side; so does this one."""
        return False

    def pause_writing(self) -> None:
        """The socket takes no more for now."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """The socket takes more again."""
        self._writable.set()

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the next bytes go."""
        return self._inbox.room()

    def buffer_updated(self, size_bytes: int) -> None:
        """Bytes have arrived."""
        try:
            for frame in self._inbox.received(size_bytes, self._check_frame):
                self._deliver(frame)
        except ClientError as error:
            self._end(error)

    def _check_frame(self, size: int, correlation_id: int) -> None:
        expected = self._waiting[0].correlation_id if self._waiting else None
        if _ID_BYTES <= size <= LARGEST_RESPONSE_BYTES and correlation_id == expected:
            return
        if self.versions:
            raise ConnectionLost(
                f"{self.address} sent what answers no request; the connection was given up"
            )
        from ottla.client.refusals import what_speaks

        raise NotKafka(f"{self.address} {what_speaks(self._inbox.seen())}")

    def _deliver(self, frame: memoryview) -> None:
        waiting = self._waiting.popleft()
        self._served = bool(self.versions)
        if waiting.future.done():  # whoever asked has gone
            return
        try:
            waiting.future.set_result(waiting.read(waiting.key, waiting.version, frame))
        except ProtocolError as error:
            broken = ConnectionLost(f"the answer of {self.address} could not be read: {error}")
            waiting.future.set_exception(broken)
            raise broken from error

    def _end(self, error: ClientError, *, flush: bool = False) -> None:
        """Close for good, once: all that wait get `error`; `flush` sends what was written."""
        if self._failure is not None:
            return
        self._failure, self.closed = error, True
        if self._transport is None:
            self._gone.set_result(None)
        elif flush:
            self._transport.close()
        else:
            self._transport.abort()
        if self._renewal is not None:
            self._renewal.cancel()
        waiting, self._waiting = self._waiting, deque()
        held = [each for each, _ in self._held or () if each is not None]
        for each in (*waiting, *held):
            if not each.future.done():
                each.future.set_exception(error)
                each.future.exception()  # nobody may be looking: no complaint about that
        self._writable.set()

    def _lost(self, error: Exception | None) -> ClientError:
        from ottla.client.refusals import lost_unanswered, lost_unserved

        if not self.versions:
            return lost_unanswered(self.address, self._inbox.seen(), error, tls=self._tls)
        if not self._served:
            return lost_unserved(self.address, tls=self._tls)
        why = f": {error}" if error else ""
        return ConnectionLost(f"the broker at {self.address} closed the connection{why}")


def _read_typed(key: ApiKey, version: int, frame: Buffer) -> Any:
    if key is ApiKey.API_VERSIONS and len(frame) >= _ID_BYTES + _ERROR_CODE.size:
        # A refusal comes in version 0, whatever was asked for (KIP-511).
        refused = _ERROR_CODE.unpack_from(frame, _ID_BYTES)[0] == ErrorCode.UNSUPPORTED_VERSION
        version = 0 if refused else version
    return decode_response(key, version, frame)[1]


def _read_body(key: ApiKey, version: int, frame: Buffer) -> memoryview:
    _, pos = parse_response_header(key, version, frame)
    return memoryview(frame)[pos:]

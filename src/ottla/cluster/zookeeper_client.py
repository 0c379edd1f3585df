"""A session with ZooKeeper that renews itself: kazoo's connection thread, bridged into the loop.

kazoo 2.11 connects, retries, pings and frames, and suffices for that; its thread also keeps the
session alive while the loop is busy. The rest is done here, since of kazoo's own:

- watches fire once, and are forgotten when the connection breaks: one persistent recursive watch,
  set again at each connection, takes their place, and its events bypass kazoo's registry;
- events and results travel through two other threads and lose their order: here both go straight
  from the connection thread into one queue, and arrive on the loop as the server sent them;
- LOST is told only after a reconnect: `heard_at_ms` lets `ottla.cluster.session` compute it;
- requests made while there is no connection wait for one without end: the tree refuses them;
- each request wakes the thread by a byte in a socket that blocks when it is full, at some 280 of
  them: no more than WINDOW are under way, so that the loop never waits;
- connecting to a host that does not answer takes as long as the session lasts: here each host gets
  its share; the pause between attempts grows to an hour: here to a second;
- an error code that it does not know ends its thread: here it is learnt, and the thread restarted;
- multi hands errors back as results, recipes outlive the session: neither is used.

kazoo is pinned in pyproject.toml: what is overridden here are its insides.
"""

import asyncio
import logging
import socket
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Protocol

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import EXCEPTIONS, ConnectionLoss, SessionExpiredError, ZookeeperError
from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol.connection import ConnectionHandler
from kazoo.protocol.serialization import Watch
from kazoo.retry import KazooRetry

from ottla.base.log import logger

log = logger(__name__)

WINDOW: Final = 128
"""Requests under way at a time; kazoo's wake-up socket takes some 280 bytes before it blocks."""

_FIRST_PAUSE_S: Final = 0.05
_LONGEST_PAUSE_S: Final = 1.0
_SHORTEST_CONNECT_S: Final = 0.5
_PATIENCE_S: Final = 1.5
"""How long a server may take with what is under way, and again to hear the farewell."""
# What kazoo fails requests with when their connection breaks or their session ends.
_BROKEN: Final = (ConnectionLoss, SessionExpiredError)


class Listener(Protocol):
    """Who is told, on the loop and in the order in which the server sent it."""

    def connected(self, session_id: int, timeout_ms: int, sent_ms: int) -> None:
        """There is a connection; `session_id` says whether the session is still the same."""

    def disconnected(self, *, expired: bool) -> None:
        """The connection is gone, or the session with it; what was under way has failed."""

    def changed(self, paths: list[str]) -> None:
        """Nodes came, went or were set."""


class ZookeeperClient:
    """Sends requests in order; every method but `close` returns at once."""

    def __init__(
        self,
        hosts: str,
        session_timeout_ms: int,
        listener: Listener,
        auth: tuple[str, str] | None = None,
    ) -> None:
        self._listener = listener
        self._inbox = _Inbox(asyncio.get_running_loop())
        self._backlog: deque[tuple[Any, _Result]] = deque()
        self._under_way: set[_Result] = set()
        self._paths: list[str] = []
        self._kazoo = _kazoo_client(hosts, session_timeout_ms, auth)
        self._connection = _Connection(self._kazoo, self)
        self._kazoo._connection = self._connection
        self._kazoo.add_listener(self._on_state)

    @property
    def heard_at_ms(self) -> int:
        """When the latest message was sent that has been answered."""
        return self._connection.heard_at_ms

    @property
    def trouble(self) -> str:
        """What went wrong last in connecting; empty if nothing did."""
        return self._connection.trouble

    def start(self) -> None:
        """Begins to connect, and goes on until closed."""
        self._kazoo.start_async()

    def call(self, request: Any) -> "asyncio.Future[Any]":
        """Sends one of kazoo's requests; the future holds its answer, or kazoo's exception."""
        result = _Result(self)
        self._backlog.append((request, result))
        self._send()
        return result.future

    def hang_up(self) -> None:
        """Breaks the connection, so that it is made anew."""
        self._connection.hang_up()

    async def close(self) -> None:
        """Ends the session, so that its ephemeral nodes go at once; waits for what is under way."""
        waiting = [result.future for result in self._under_way]
        waiting += [result.future for _, result in self._backlog]
        if waiting:
            await asyncio.wait(waiting, timeout=_PATIENCE_S)
        hang_up = asyncio.get_running_loop().call_later(_PATIENCE_S, self.hang_up)
        await asyncio.to_thread(self._stop)
        hang_up.cancel()

    def _stop(self) -> None:
        try:
            self._kazoo.stop()
            self._kazoo.close()
        except Exception as error:  # it ends with the process, and its session by itself
            log.warning("the connection to zookeeper did not close", error=repr(error))

    def _send(self) -> None:
        while self._backlog and len(self._under_way) < WINDOW:
            request, result = self._backlog.popleft()
            self._under_way.add(result)
            result.issued_at_ms = monotonic_ms()
            self._kazoo._call(request, result)

    # What follows is called in kazoo's connection thread, and only posts.

    def _on_state(self, state: str) -> None:
        if state != KazooState.CONNECTED:  # which is told by `established`, with what it brings
            self._inbox.post(self._disconnected, state == KazooState.LOST)

    def established(self, session_id: int, timeout_ms: int, sent_ms: int) -> None:
        """A handshake has succeeded, credentials included."""
        self._inbox.post(self._connected, session_id, timeout_ms, sent_ms)

    def event(self, path: str) -> None:
        """The watch heard of a change."""
        self._inbox.post(self._changed, path)

    def answered(self, result: "_Result", value: object, error: BaseException | None) -> None:
        """A request has its answer; a request that could not be sent gets it on the loop."""
        self._inbox.post(self._answered, result, value, error)

    # What follows runs on the loop.

    def _connected(self, session_id: int, timeout_ms: int, sent_ms: int) -> None:
        self._listener.connected(session_id, timeout_ms, sent_ms)

    def _disconnected(self, expired: bool) -> None:
        # A request that came in just now may still lie in kazoo's queue: should it be sent after
        # the reconnect, it goes before all that comes after it.
        self._deliver()
        left = [*self._under_way, *(result for _, result in self._backlog)]
        self._under_way.clear()
        self._backlog.clear()
        self._listener.disconnected(expired=expired)
        for result in left:
            result.settle(None, ConnectionLoss())

    def _changed(self, path: str) -> None:
        # One call for a run of events, and before the answer of the write that caused them.
        if not self._paths:
            self._inbox.after_run(self._deliver)
        self._paths.append(path)

    def _deliver(self) -> None:
        paths, self._paths = self._paths, []
        if paths:
            self._listener.changed(paths)

    def _answered(self, result: "_Result", value: object, error: BaseException | None) -> None:
        self._deliver()
        if isinstance(error, _BROKEN):
            return  # it is told by `_disconnected`, which follows: the state must change first
        self._under_way.discard(result)
        result.settle(value, error)
        self._send()


class _Inbox:
    """Callbacks that other threads post, run on the loop in order; one wake-up for many."""

    __slots__ = ("_last", "_loop", "_posted", "_woken")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._posted: deque[tuple[Callable[..., None], tuple[Any, ...]]] = deque()
        self._woken = False
        self._last: Callable[[], None] | None = None

    def post(self, callback: Callable[..., None], *args: Any) -> None:
        self._posted.append((callback, args))
        if not self._woken:
            self._woken = True
            try:
                self._loop.call_soon_threadsafe(self._run)
            except RuntimeError:  # the loop has ended: nobody is left to be told
                self._posted.clear()

    def after_run(self, callback: Callable[[], None]) -> None:
        """Calls back when all that is posted has run."""
        self._last = callback

    def _run(self) -> None:
        self._woken = False  # first: what is posted from here on wakes again
        while self._posted:
            callback, args = self._posted.popleft()
            callback(*args)
        last, self._last = self._last, None
        if last is not None:
            last()


class _Result:
    """Stands where kazoo puts the answer to a request."""

    __slots__ = ("_client", "future", "issued_at_ms")

    def __init__(self, client: ZookeeperClient) -> None:
        self._client = client
        self.future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.issued_at_ms = 0

    def set(self, value: object = None) -> None:
        self._client.answered(self, value, None)

    def set_exception(self, error: BaseException) -> None:
        self._client.answered(self, None, error)

    def settle(self, value: object, error: BaseException | None) -> None:
        if self.future.done():  # whoever waited was cancelled, or told that the connection broke
            return
        if error is None:
            self.future.set_result(value)
        else:
            self.future.set_exception(error)


class _Connection(ConnectionHandler):  # type: ignore[misc]
    """kazoo's connection thread, telling the client what it sees."""

    def __init__(self, kazoo: KazooClient, client: ZookeeperClient) -> None:
        super().__init__(kazoo, kazoo._conn_retry.copy(), logger=kazoo.logger)
        self.heard_at_ms = 0
        self.trouble = ""
        self._tells = client
        self._pinged_at_ms = 0
        kazoo.logger.addHandler(_Troubles(self))

    def hang_up(self) -> None:
        """Breaks the connection, so that whoever waits for the server waits no longer."""
        with suppress(AttributeError, OSError):  # there may be none
            self._socket.shutdown(socket.SHUT_RDWR)

    def zk_loop(self) -> None:
        while not self.client._stopped.is_set():
            try:
                super().zk_loop()
            except Exception as error:  # an interrupted pause among them, when closing
                self.trouble = repr(error)
            self.client._stopped.wait(_LONGEST_PAUSE_S)

    def _connect(self, host: str, hostip: str, port: int) -> tuple[float, float]:
        sent_ms = monotonic_ms()
        read_timeout_ms, connect_timeout_ms = super()._connect(host, hostip, port)
        self.heard_at_ms = max(self.heard_at_ms, sent_ms)
        # kazoo keeps the time-out that the server has set to itself, but reads for two thirds of it.
        timeout_ms = round(read_timeout_ms * 1.5)
        self._tells.established(self.client._session_id, timeout_ms, sent_ms)
        return read_timeout_ms, connect_timeout_ms

    def _send_ping(self, connect_timeout: float) -> None:
        self._pinged_at_ms = monotonic_ms()
        super()._send_ping(connect_timeout)

    def _read_socket(self, read_timeout: float) -> Any:
        pinging = self.ping_outstanding.is_set()
        response = super()._read_socket(read_timeout)
        if pinging and not self.ping_outstanding.is_set():
            self.heard_at_ms = max(self.heard_at_ms, self._pinged_at_ms)
        return response

    def _read_response(self, header: Any, buffer: bytes, offset: int) -> Any:
        if header.err and header.err not in EXCEPTIONS:
            name = f"ZookeeperError{-header.err}"
            EXCEPTIONS[header.err] = type(name, (ZookeeperError,), {"code": header.err})
        result = self.client._pending[0][1]
        if isinstance(result, _Result):  # a farewell has none
            self.heard_at_ms = max(self.heard_at_ms, result.issued_at_ms)
        return super()._read_response(header, buffer, offset)

    def _read_watch_event(self, buffer: bytes, offset: int) -> None:
        watch, _ = Watch.deserialize(buffer, offset)
        self._tells.event(watch.path)


class _Threads(SequentialThreadingHandler):  # type: ignore[misc]
    """kazoo's threads, less the two that would carry callbacks, and with a bounded connect."""

    def __init__(self, connect_timeout_s: float) -> None:
        super().__init__()
        self._connect_timeout_s = connect_timeout_s

    def start(self) -> None:
        self._running = True

    def stop(self) -> None:
        self._running = False

    def create_connection(self, *args: Any, timeout: float, **kwargs: Any) -> Any:
        bounded = min(timeout, self._connect_timeout_s)
        return super().create_connection(*args, timeout=bounded, **kwargs)


class _Troubles(logging.Handler):
    """Remembers kazoo's last complaint, which says best why there is no connection."""

    def __init__(self, connection: _Connection) -> None:
        super().__init__(logging.WARNING)
        self._connection = connection

    def emit(self, record: logging.LogRecord) -> None:
        self._connection.trouble = record.getMessage()
        log.debug("kazoo", says=self._connection.trouble)


def _kazoo_client(hosts: str, session_timeout_ms: int, auth: tuple[str, str] | None) -> KazooClient:
    timeout_s = session_timeout_ms / 1000
    share_s = timeout_s / (hosts.count(",") + 1)
    threads = _Threads(max(share_s, _SHORTEST_CONNECT_S))
    quiet = logging.Logger("kazoo", logging.WARNING)  # of its own: it belongs to this client alone
    return KazooClient(
        hosts=hosts,
        timeout=timeout_s,
        handler=threads,
        auth_data=[auth] if auth else None,
        connection_retry=KazooRetry(
            max_tries=-1,
            delay=_FIRST_PAUSE_S,
            max_delay=_LONGEST_PAUSE_S,
            sleep_func=threads.sleep_func,
        ),
        logger=quiet,
    )


def monotonic_ms() -> int:
    """The time of a clock that never jumps."""
    return time.monotonic_ns() // 1_000_000

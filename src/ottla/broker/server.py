"""The listeners: accept connections, count them, and close those that have been idle too long."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from functools import partial
from time import perf_counter

from ottla.base.log import logger
from ottla.base.tasks import note_failure
from ottla.broker import metrics
from ottla.broker.busy_poll import BusyPoll
from ottla.broker.connection import Connection
from ottla.broker.dispatch import Dispatcher
from ottla.config.live import LiveSettings

log = logger(__name__)

# One buffer for all connections: large enough to take a small client's whole burst, small enough to stay in cache.
RECEIVE_BUFFER_BYTES = 256 * 1024


class Server:
    """All listeners of a broker and the connections they accepted."""

    def __init__(self, dispatcher: Dispatcher, settings: LiveSettings) -> None:
        self._dispatcher = dispatcher
        self._settings = settings
        self._receive_buffer = memoryview(bytearray(RECEIVE_BUFFER_BYTES))
        self._servers: list[asyncio.Server] = []
        self._connections: set[Connection] = set()
        self._to_flush: list[Connection] = []
        self._turn_has_replies = False
        self._busy_poll = BusyPoll()
        self._per_ip: Counter[str] = Counter()
        self._sweeper: asyncio.Task[None] | None = None

    @property
    def connections(self) -> tuple[Connection, ...]:
        """Those that are open at this moment."""
        return tuple(self._connections)

    async def listen(self, bound: socket.socket, listener: str) -> None:
        """Begin to accept connections on a bound socket, in the name of a listener."""
        loop = asyncio.get_running_loop()
        config = self._settings.now.server
        for option, size in (
            (socket.SO_SNDBUF, config.socket_send_buffer_bytes),
            (socket.SO_RCVBUF, config.socket_receive_buffer_bytes),
        ):
            # Accepted sockets inherit these; -1 leaves them to the kernel, which adapts them to the load.
            if size > 0:
                bound.setsockopt(socket.SOL_SOCKET, option, size)
        server = await loop.create_server(
            partial(self._accept, listener), sock=bound, backlog=config.socket_listen_backlog_size
        )
        self._servers.append(server)
        if self._sweeper is None and config.connections_max_idle_ms > 0:
            self._sweeper = loop.create_task(self._close_idle())

    def _accept(self, listener: str) -> Connection:
        limit = self._settings.now.server.socket_request_max_bytes
        return Connection(self._dispatcher.dispatch, self, self._receive_buffer, limit, listener)

    def opened(self, connection: Connection) -> bool:
        """Count a connection, unless that would be one too many."""
        config = self._settings.now.server
        host = connection.host
        self._connections.add(connection)
        self._per_ip[host] += 1
        metrics.CONNECTIONS.value += 1
        connection.last_active = perf_counter()
        per_ip = dict(config.max_connections_per_ip_overrides).get(
            host, config.max_connections_per_ip
        )
        if len(self._connections) <= config.max_connections and self._per_ip[host] <= per_ip:
            return True
        metrics.CONNECTIONS_REFUSED.value += 1
        log.warning("connection refused", client=host, reason="max.connections or its limit per ip")
        return False

    def flush_soon(self, connection: Connection) -> bool:
        """Send its replies at the end of this turn of the loop, unless it is the first to have one.

        So a lone client is answered at once, and a crowd together.
        """
        if self._turn_has_replies:
            self._to_flush.append(connection)
            return True
        self._turn_has_replies = True
        asyncio.get_running_loop().call_soon(self._end_turn)
        return False

    def _end_turn(self) -> None:
        self._turn_has_replies = False
        to_flush, self._to_flush = self._to_flush, []
        for connection in to_flush:
            connection.flush()
        self._busy_poll.served()

    def closed(self, connection: Connection) -> None:
        """Forget a connection."""
        if connection not in self._connections:
            return
        self._connections.discard(connection)
        metrics.CONNECTIONS.value -= 1
        self._per_ip[connection.host] -= 1
        if not self._per_ip[connection.host]:
            del self._per_ip[connection.host]

    async def _close_idle(self) -> None:
        idle = self._settings.now.server.connections_max_idle_ms / 1000
        while True:
            await asyncio.sleep(min(idle / 2, 30))
            try:
                self._expire_before(perf_counter() - idle)
            except Exception:
                note_failure("idle connections")

    def _expire_before(self, oldest: float) -> None:
        for connection in [c for c in self._connections if c.last_active < oldest]:
            metrics.CONNECTIONS_EXPIRED.value += connection.expire()

    async def stop(self) -> None:
        """Close the listeners, then the connections."""
        if self._sweeper is not None:
            self._sweeper.cancel()
        for server in self._servers:
            server.close()
        for connection in self.connections:
            connection.abort()

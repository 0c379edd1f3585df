"""A network that can lose the answer to a request, or hold a client back, between clients and a broker on one port.

It knows frames: a request reaches the broker whole or not at all, and an answer that is lost takes its connection with
it, as when a cable is pulled. Clients come back and ask again, which is what retries are made of.
"""

from __future__ import annotations

import random
import socket
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Final, Self

TIMEOUT_S = 10.0
_HEAD: Final = struct.Struct(">hhih")


class Network:
    """Listens on a port of its own, and is what the broker advertises."""

    def __init__(self, on_fault: Callable[[str], None], seed: int = 0) -> None:
        self.target: tuple[str, int] = ("", 0)
        self.on_fault = on_fault
        self.chance = random.Random(seed)
        self.losses: Mapping[int, float] = {}
        self.held: dict[str, Event] = {}
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._lock = Lock()
        self._connections: set[_Connection] = set()
        self._over = False
        self._thread = Thread(target=self._accept, name="network")

    @property
    def bootstrap(self) -> str:
        """HOST:PORT, as clients take it."""
        return f"127.0.0.1:{self.port}"

    def lose_answers(self, chances: Mapping[int, float]) -> None:
        """From now on answers to these APIs are lost with these chances."""
        self.losses = chances

    def hold(self, client_id: str) -> None:
        """Nothing that the client sends arrives, until it is let go."""
        self.held[client_id] = Event()
        self.on_fault(f"{client_id} held back")

    def let_go(self, client_id: str) -> None:
        """All that was held back arrives now."""
        if held := self.held.pop(client_id, None):
            held.set()

    def _accept(self) -> None:
        with suppress(OSError):  # the listener is closed
            while True:
                client, _ = self._listener.accept()
                connection = _Connection(self, client)
                with self._lock:
                    self._connections.add(connection)
                    if self._over:
                        connection.hang_up()
                connection.start()

    def forget(self, connection: _Connection) -> None:
        """A connection has ended."""
        with self._lock:
            self._connections.discard(connection)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for client_id in list(self.held):
            self.let_go(client_id)
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(TIMEOUT_S)
        with self._lock:
            self._over = True
            left = list(self._connections)
        for connection in left:
            connection.hang_up()
            connection.join(TIMEOUT_S)


class _Connection(Thread):
    """One client and its connection to the broker; this thread carries answers, another one requests."""

    def __init__(self, network: Network, client: socket.socket) -> None:
        super().__init__(name="answers")
        self.network, self.client = network, client
        self.broker = socket.socket()
        self.doomed: set[int] = set()

    def run(self) -> None:
        requests = Thread(target=self._carry_requests, name="requests")
        with self.client, self.broker, suppress(OSError):
            self.broker.connect(self.network.target)
            for each in (self.client, self.broker):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            requests.start()
            self._carry_answers()
        self.hang_up()
        if requests.ident is not None:
            requests.join()
        self.network.forget(self)

    def hang_up(self) -> None:
        """On both sides."""
        for each in (self.client, self.broker):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _carry_requests(self) -> None:
        network = self.network
        with suppress(OSError):
            for frame in _frames(self.client):
                api_key, _, correlation_id, size = _HEAD.unpack_from(frame, 4)
                client_id = frame[14 : 14 + max(size, 0)].decode()
                while held := network.held.get(client_id):
                    held.wait()
                if network.chance.random() < network.losses.get(api_key, 0):
                    self.doomed.add(correlation_id)
                self.broker.sendall(frame)
        self.hang_up()

    def _carry_answers(self) -> None:
        for frame in _frames(self.broker):
            if int.from_bytes(frame[4:8], "big") in self.doomed:
                self.network.on_fault("answer lost")
                return
            self.client.sendall(frame)


def _frames(source: socket.socket) -> Iterator[bytes]:
    """Whole frames with their lengths, to the end of the stream."""
    with source.makefile("rb") as stream:
        while len(size := stream.read(4)) == 4:
            length = int.from_bytes(size, "big")
            body = stream.read(length)
            if len(body) < length:
                return
            yield size + body

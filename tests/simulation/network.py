"""A network in memory: links that are slow, break, or swallow all that is sent, between real protocols."""

import asyncio
import random
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Any

HERE: ContextVar[str] = ContextVar("HERE", default="outside")
"""The host on which a task runs; tasks inherit it from the task that made them."""


class Transport:
    """One end of a connection, as much of an asyncio transport as the protocols ask for."""

    def __init__(self, network: "Network", here: str, there: str) -> None:
        self._network = network
        self.here, self.there = here, there
        self.peer: Transport | None = None
        self.protocol: Any = None
        self.closed = False
        self._arrives = 0.0

    def get_extra_info(self, name: str) -> Any:
        return {"peername": (self.there, 1), "socket": self}.get(name)

    def fileno(self) -> int:
        return -1

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None:
        """Nothing is held back: replies are small here."""

    def resume_reading(self) -> None:
        """See `pause_reading`."""

    def write(self, data: Any) -> None:
        if not self.closed:
            self._later(self._deliver, bytes(data))

    def writelines(self, pieces: Any) -> None:
        self.write(b"".join(pieces))

    def close(self) -> None:
        if not self.closed:
            self._later(self._hang_up)
            self._end(None)

    def abort(self) -> None:
        self.close()

    def _later(self, act: Callable[..., None], *arguments: Any) -> None:
        """In order, and not at once; what crosses a cut is gone."""
        held = self._network.held.get(self.here)
        if held is not None:
            held.append(partial(self._later, act, *arguments))
            return
        loop = asyncio.get_running_loop()
        self._arrives = max(self._arrives, loop.time() + self._network.delay())
        loop.call_at(self._arrives, act, *arguments)

    def _deliver(self, data: bytes) -> None:
        peer = self.peer
        if peer is None or peer.closed or not self._network.reaches(self.here, self.there):
            return
        while data and not peer.closed:
            buffer = peer.protocol.get_buffer(len(data))
            size = min(len(buffer), len(data))
            buffer[:size] = data[:size]
            peer.protocol.buffer_updated(size)
            data = data[size:]

    def _hang_up(self) -> None:
        if self.peer is not None and self._network.reaches(self.here, self.there):
            self.peer._end(None)

    def _end(self, error: Exception | None) -> None:
        if not self.closed:
            self.closed = True
            asyncio.get_running_loop().call_soon(self.protocol.connection_lost, error)


class Network:
    """Hosts that listen, the links between them, and what is wrong with those."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._listening: dict[str, Callable[[], Any]] = {}
        self._transports: list[Transport] = []
        self.cuts: set[tuple[str, str]] = set()
        # What is on its way from hosts whose words come late, until they are let go.
        self.held: dict[str, list[Callable[[], None]]] = {}

    def delay(self) -> float:
        """Mostly under a millisecond, sometimes much more."""
        if self._rng.random() < 0.02:
            return self._rng.uniform(0.005, 0.08)
        return self._rng.uniform(0.0001, 0.001)

    def reaches(self, here: str, there: str) -> bool:
        """Whether what leaves one host arrives at another."""
        return (here, there) not in self.cuts

    def let_go(self, host: str) -> None:
        """All that was held arrives, late and in order."""
        for send in self.held.pop(host):
            send()

    def listen(self, host: str, accept: Callable[[], Any]) -> None:
        """A process begins to serve."""
        self._listening[host] = accept

    def kill(self, host: str) -> None:
        """A process is gone: its port refuses, and its connections are reset."""
        self._listening.pop(host, None)
        for transport in self._transports:
            if host in (transport.here, transport.there):
                transport._hang_up()
                transport._end(None)

    def reset_some(self, host: str) -> None:
        """Connections of a host break, for no reason."""
        for transport in list(self._transports):
            if transport.here == host and not transport.closed and self._rng.random() < 0.5:
                transport._hang_up()
                transport._end(ConnectionResetError())

    async def connect(self, factory: Callable[[], Any], host: str, port: int) -> Any:
        """As a loop connects: refused at once where nobody listens, never answered across a cut."""
        here = HERE.get()
        await asyncio.sleep(self.delay())
        if not (self.reaches(here, host) and self.reaches(host, here)):
            await asyncio.sleep(3600)
        accept = self._listening.get(host)
        if accept is None:
            raise ConnectionRefusedError(111, "refused")
        near, far = Transport(self, here, host), Transport(self, host, here)
        near.peer, far.peer = far, near
        near.protocol, far.protocol = factory(), accept()
        self._transports = [each for each in self._transports if not each.closed]
        self._transports += (near, far)
        far.protocol.connection_made(far)
        near.protocol.connection_made(near)
        return near, near.protocol

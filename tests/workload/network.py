"""A network that can lose the answer to a request, or hold a client back, between clients and a broker on one port.

It knows frames: a request reaches the broker whole or not at all, and an answer that is lost takes its connection with
it, as when a cable is pulled. Clients come back and ask again, which is what retries are made of.
"""

from __future__ import annotations

import asyncio
import random
import struct
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

TIMEOUT_S = 10.0
PAUSE_S = 0.01
_HEAD: Final = struct.Struct(">hhih")
_ENDED = (asyncio.IncompleteReadError, ConnectionError)


class Network:
    """Listens on a port of its own, and is what the broker advertises."""

    def __init__(self, on_fault: Callable[[str], None], seed: int = 0) -> None:
        self.target: tuple[str, int] = ("", 0)
        self.port = 0
        self._on_fault = on_fault
        self._chance = random.Random(seed)
        self._losses: Mapping[int, float] = {}
        self._held: dict[str, asyncio.Event] = {}
        self._serving: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="network")

    @property
    def bootstrap(self) -> str:
        """HOST:PORT, as clients take it."""
        return f"127.0.0.1:{self.port}"

    def lose_answers(self, chances: Mapping[int, float]) -> None:
        """From now on answers to these APIs are lost with these chances."""
        self._losses = chances

    def hold(self, client_id: str) -> None:
        """Nothing that the client sends arrives, until it is let go."""
        self._loop.call_soon_threadsafe(self._held.setdefault, client_id, asyncio.Event())
        self._on_fault(f"{client_id} held back")

    def let_go(self, client_id: str) -> None:
        """All that was held back arrives now."""

        def release() -> None:
            if held := self._held.pop(client_id, None):
                held.set()

        self._loop.call_soon_threadsafe(release)

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _serve(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        serving = asyncio.current_task()
        assert serving is not None
        self._serving.add(serving)
        serving.add_done_callback(self._serving.discard)
        try:
            broker, to_broker = await asyncio.open_connection(*self.target)
        except (OSError, asyncio.CancelledError):
            await _close(to_client)
            return
        doomed: set[int] = set()
        pumps = [
            asyncio.ensure_future(self._requests(client, to_broker, doomed)),
            asyncio.ensure_future(self._answers(broker, to_client, doomed)),
        ]
        # Cancelled when the network ends.
        with suppress(asyncio.CancelledError):
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        for pump in pumps:
            pump.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)
        await _close(to_broker)
        await _close(to_client)

    async def _requests(
        self, client: asyncio.StreamReader, to_broker: asyncio.StreamWriter, doomed: set[int]
    ) -> None:
        while frame := await _frame(client):
            api_key, _, correlation_id, size = _HEAD.unpack_from(frame, 4)
            client_id = frame[14 : 14 + max(size, 0)].decode()
            while held := self._held.get(client_id):
                await held.wait()
            if self._chance.random() < self._losses.get(api_key, 0):
                doomed.add(correlation_id)
            to_broker.write(frame)

    async def _answers(
        self, broker: asyncio.StreamReader, to_client: asyncio.StreamWriter, doomed: set[int]
    ) -> None:
        while frame := await _frame(broker):
            if int.from_bytes(frame[4:8], "big") in doomed:
                self._on_fault("answer lost")
                return
            to_client.write(frame)

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(TIMEOUT_S)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(TIMEOUT_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(TIMEOUT_S)
        self._loop.close()

    async def _end(self) -> None:
        self._server.close()
        # Clients come back as long as they may: whoever has been accepted is served, and then is hung up on.
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            for task in self._serving:
                task.cancel()
            await asyncio.wait(others, timeout=PAUSE_S)


async def _frame(stream: asyncio.StreamReader) -> bytes:
    """The next frame with its length; nothing at the end of the stream."""
    try:
        size = await stream.readexactly(4)
        return size + await stream.readexactly(int.from_bytes(size, "big"))
    except _ENDED:
        return b""


async def _close(stream: asyncio.StreamWriter) -> None:
    """Hang up, whatever the other side has done."""
    stream.transport.abort()
    with suppress(OSError):
        await stream.wait_closed()

"""A TCP proxy that a test can make lossy: silent in either direction, or cut."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Proxy:
    """Stands between a client and one server; what it swallows is gone."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._writers: set[asyncio.StreamWriter] = set()
        self.port = 0
        self.swallow_requests = False
        self.swallow_answers = False
        self.swallowed_bytes = 0

    @property
    def address(self) -> str:
        """Where clients connect."""
        return f"127.0.0.1:{self.port}"

    def heal(self) -> None:
        """Lets everything through again, on new connections."""
        self.swallow_requests = self.swallow_answers = False
        self.cut()

    def silence(self) -> None:
        """Lets nothing through any more, while all connections seem to stand."""
        self.swallow_requests = self.swallow_answers = True

    def cut(self) -> None:
        """Breaks every connection."""
        for writer in self._writers:
            writer.close()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serves one connection."""
        try:
            there, back = await asyncio.open_connection(*self._target)
        except OSError:
            writer.close()
            return
        self._writers |= {writer, back}
        await asyncio.gather(self._pump(reader, back, True), self._pump(there, writer, False))
        self._writers -= {writer, back}

    async def _pump(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter, requests: bool
    ) -> None:
        try:
            while data := await source.read(65536):
                if self.swallow_requests if requests else self.swallow_answers:
                    self.swallowed_bytes += len(data)
                else:
                    target.write(data)
        except OSError:
            pass
        finally:
            target.close()


@asynccontextmanager
async def proxy(address: str) -> AsyncIterator[Proxy]:
    """A proxy before HOST:PORT."""
    host, _, port = address.rpartition(":")
    between = Proxy(host, int(port))
    server = await asyncio.start_server(between.accept, "127.0.0.1", 0)
    between.port = server.sockets[0].getsockname()[1]
    try:
        yield between
    finally:
        server.close()
        between.cut()
        await asyncio.sleep(0)

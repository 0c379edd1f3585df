"""An event loop whose time is not ours: when nobody can act, it jumps to when somebody can."""

import asyncio
import selectors
from collections.abc import Callable
from typing import Any

Connect = Callable[[Callable[[], Any], str, int], Any]


class _Jumping(selectors.SelectSelector):
    """Waits for nothing: what it would have waited is added to the clock."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise RuntimeError("everybody waits, and nothing will ever happen")
        self.now += max(0.0, timeout)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """Runs real asynchronous code in simulated time, over a simulated network."""

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)
        self.connect: Connect | None = None

    def time(self) -> float:
        """The seconds since the story began."""
        return self._jumping.now

    async def create_connection(  # type: ignore[override]
        self, protocol_factory: Callable[[], Any], host: str, port: int
    ) -> Any:
        """Connects through the simulated network: there is no other."""
        assert self.connect is not None
        return await self.connect(protocol_factory, host, port)

"""An event loop whose time is not ours: when nobody can act, it jumps to when somebody can."""

import asyncio
import selectors
import traceback
from collections import deque
from collections.abc import Callable
from contextvars import Context, copy_context
from heapq import heappop, heappush
from typing import Any

Connect = Callable[[Callable[[], Any], str, int], Any]


class Call:
    """Something to be done; as much of an asyncio handle as anybody asks for."""

    __slots__ = ("_args", "_callback", "_context", "_when", "is_cancelled")

    def __init__(
        self, when: float, callback: Callable[..., Any], args: Any, context: Context | None
    ) -> None:
        self._when = when
        self._callback = callback
        self._args = args
        # Not `or`: a context in which nothing is set is empty, and that is false.
        self._context = copy_context() if context is None else context
        self.is_cancelled = False

    def when(self) -> float:
        return self._when

    def cancel(self) -> None:
        self.is_cancelled = True

    def cancelled(self) -> bool:
        return self.is_cancelled

    def __call__(self) -> None:
        self._context.run(self._callback, *self._args)


class VirtualLoop(asyncio.SelectorEventLoop):
    """Runs real asynchronous code in simulated time, over a simulated network.

    A third of the time of a story was the loop's: it leaves out what only sockets, threads and signals would need.
    What a callback raises is kept, since nobody else would hear of it.
    """

    _ready: deque[Call]  # type: ignore[assignment]
    _scheduled: list[tuple[float, int, Call]]  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__(selectors.SelectSelector())
        self.connect: Connect | None = None
        self.events = 0
        self.failures: list[str] = []
        self._now = 0.0
        self._calls = 0

    def time(self) -> float:
        """The seconds since the story began."""
        return self._now

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> Call:
        """In this instant, after all that was called for before."""
        call = Call(self._now, callback, args, context)
        self._ready.append(call)
        return call

    # There are no threads.
    call_soon_threadsafe = call_soon  # type: ignore[assignment]

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> Call:
        """At an instant to come; those of the same instant in the order of the calls."""
        call = Call(when, callback, args, context)
        self._calls += 1
        heappush(self._scheduled, (when, self._calls, call))
        return call

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> Call:
        """After a while."""
        return self.call_at(self._now + delay, callback, *args, context=context)

    def _run_once(self) -> None:
        """All that can be done now, or the one thing that is next."""
        ready = self._ready
        if not ready:
            ready.append(self._next())
        for _ in range(len(ready)):
            call = ready.popleft()
            if not call.is_cancelled:
                try:
                    call()
                except Exception:
                    self.failures.append(traceback.format_exc())

    def _next(self) -> Call:
        """An event: a message that arrives, a word of the tree, a pause or a patience that ends."""
        while self._scheduled:
            when, _, call = heappop(self._scheduled)
            if not call.is_cancelled:
                self._now = max(self._now, when)
                self.events += 1
                return call
        raise RuntimeError("everybody waits, and nothing will ever happen")

    async def create_connection(  # type: ignore[override]
        self, protocol_factory: Callable[[], Any], host: str, port: int
    ) -> Any:
        """Connects through the simulated network: there is no other."""
        assert self.connect is not None
        return await self.connect(protocol_factory, host, port)

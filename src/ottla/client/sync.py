"""The bridge for code without an event loop: one thread with a loop that runs coroutines for it."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S")
S_co = TypeVar("S_co", covariant=True)


class LoopThread:
    """A daemon thread that runs an event loop until it is stopped."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work`; whoever is interrupted while waiting cancels it."""
        if self.stopped or threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError(
                "this client was closed"
                if self.stopped
                else "a blocking call inside the client's own thread would wait for ever"
            )
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def call(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Have the loop call a function soon."""
        self._loop.call_soon_threadsafe(function, *arguments)

    @property
    def stopped(self) -> bool:
        """Whether the thread has ended."""
        return self._loop.is_closed()

    def stop(self) -> None:
        """Cancel what still runs, and end the thread."""
        if self.stopped:
            return
        self.run(_cancel_others())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Owner(Protocol[S_co]):
    """What has an asynchronous twin and the thread it runs in."""

    @property
    def twin(self) -> S_co:
        """The asynchronous object."""

    @property
    def thread(self) -> LoopThread:
        """Where it runs."""


def blocking(
    method: Callable[Concatenate[S, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Owner[S], P], T]:
    """The same method for code that waits: it runs on the twin, in the twin's thread."""

    @functools.wraps(method)
    def waiting(self: Owner[S], /, *args: P.args, **kwargs: P.kwargs) -> T:
        # By name: a twin may have the method from elsewhere, or override it.
        work: Coroutine[Any, Any, T] = getattr(self.twin, method.__name__)(*args, **kwargs)
        return self.thread.run(work)

    return waiting


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()
    await asyncio.get_running_loop().shutdown_default_executor()

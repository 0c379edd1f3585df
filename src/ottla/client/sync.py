"""The bridge for code without an event loop: one thread with a loop that runs coroutines for it."""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from ottla.base.errors import OttlaError
from ottla.client.lifetime.fork import FORKED, tell_after_fork

P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S")
S_co = TypeVar("S_co", covariant=True)


class LoopThread:
    """A daemon thread that runs an event loop until it is stopped."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        # Why nothing runs here any more; under the lock, so that nothing is begun that would never end.
        self._refusal: str | None = None
        self._lock = threading.Lock()
        self._thread.start()
        tell_after_fork(self)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work`; whoever is interrupted while waiting cancels it."""
        future = self._begin(work)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise OttlaError("this client was closed while the call was waiting") from None
        except BaseException:
            future.cancel()
            raise

    def _begin(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        refusal = self._refusal
        if threading.current_thread() is self._thread:
            refusal = "a blocking call inside the client's own thread would wait for ever"
        if refusal is None:
            with self._lock:
                refusal = self._refusal
                if refusal is None:
                    return asyncio.run_coroutine_threadsafe(work, self._loop)
        work.close()
        raise OttlaError(refusal)

    def call(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Have the loop call a function soon."""
        self._loop.call_soon_threadsafe(function, *arguments)

    @property
    def stopped(self) -> bool:
        """Whether nothing runs here any more."""
        return self._refusal is not None

    def forked(self) -> None:
        """The thread is the parent's."""
        self._lock = threading.Lock()
        self._refusal = FORKED

    def stop(self) -> None:
        """Cancel what still runs, and end the thread."""
        with self._lock:
            if self._refusal is not None:
                return
            self._refusal = "this client was closed"
            ending = asyncio.run_coroutine_threadsafe(_cancel_others(), self._loop)
        ending.result()
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

"""Background tasks that somebody owns: kept alive until done, ended together, never lost in silence."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from ottla.base.log import logger

log = logger(__name__)


class Tasks:
    """A set of running tasks.

    The event loop holds its tasks weakly: one that nobody else holds may vanish before it is done.
    """

    __slots__ = ("_running",)

    def __init__(self) -> None:
        self._running: set[asyncio.Task[Any]] = set()

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run `work` beside the caller; a failure is logged with its traceback."""
        task = asyncio.get_running_loop().create_task(work)
        self._running.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (failure := task.exception()) is not None:
            try:
                raise failure
            except Exception:
                log.exception("background task failed", task=task.get_name())

    async def cancel(self) -> None:
        """End all of them and wait until they have ended."""
        running = tuple(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

"""Background tasks that somebody owns: kept alive until done, ended together, never lost in silence."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final

from ottla.base.log import logger
from ottla.base.metrics import counter

log = logger(__name__)

LOOP_FAILURES = counter(
    "ottla_loop_failures_total",
    "Failures that nobody foresaw, in work that goes on as long as the broker does; the log has their tracebacks.",
    ("loop",),
)
_FIRST_PAUSE_S: Final = 0.1
_LONGEST_PAUSE_S: Final = 10.0


def note_failure(loop: str) -> None:
    """Count and log the exception being handled, after which a long-lived loop goes on."""
    LOOP_FAILURES.labels(loop=loop).value += 1
    log.exception("unforeseen failure, the loop goes on", loop=loop)


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

    def keep(self, loop: str, work: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        """Run `work`, and again whenever it fails: nobody else would ever do what this loop does."""
        self.spawn(_keep(loop, work))

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


async def _keep(loop: str, work: Callable[[], Coroutine[Any, Any, Any]]) -> None:
    """Pauses grow while failures follow each other, and are short again after work that lasted."""
    clock, pause_s = asyncio.get_running_loop().time, _FIRST_PAUSE_S
    while True:
        began = clock()
        try:
            await work()
            return
        except Exception:
            note_failure(loop)
        if clock() - began > _LONGEST_PAUSE_S:
            pause_s = _FIRST_PAUSE_S
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

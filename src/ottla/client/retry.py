"""Trying again: waits that grow, with some chance in them, until a time limit."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from ottla.base.units import INT_MAX
from ottla.client.errors import is_retriable

T = TypeVar("T")
JITTER = 0.2
"""Each wait is up to a fifth shorter or longer: clients that failed together come back apart."""


class Backoff:
    """The waits between attempts, each twice as long as the one before."""

    __slots__ = ("_attempts", "_initial_ms", "_most_ms")

    def __init__(self, initial_ms: int, most_ms: int) -> None:
        self._initial_ms = initial_ms
        self._most_ms = max(initial_ms, most_ms)
        self._attempts = 0

    def next_ms(self) -> float:
        """How long to wait before the next attempt."""
        # 2**30 times any initial wait is beyond every limit; more would only make numbers large.
        grown = self._initial_ms << min(self._attempts, 30)
        self._attempts += 1
        return min(grown, self._most_ms) * random.uniform(1 - JITTER, 1 + JITTER)

    def reset(self) -> None:
        """An attempt succeeded: the next failure waits shortly again."""
        self._attempts = 0


class Deadline:
    """A point in time by which something must be done."""

    __slots__ = ("_at",)

    def __init__(self, timeout_ms: float) -> None:
        self._at = asyncio.get_running_loop().time() + timeout_ms / 1000

    def left_ms(self) -> float:
        """Milliseconds until then, none afterwards."""
        return max(0.0, (self._at - asyncio.get_running_loop().time()) * 1000)

    async def sleep(self, wait_ms: float) -> bool:
        """Sleep, unless that would last beyond the deadline: then return False at once."""
        if wait_ms >= self.left_ms():
            return False
        await asyncio.sleep(wait_ms / 1000)
        return True


async def keep_trying(
    attempt: Callable[[], Awaitable[T]],
    *,
    within_ms: float,
    backoff: Backoff,
    on: Callable[[Exception], bool] = is_retriable,
    retries: int = INT_MAX,
) -> T:
    """The result of `attempt`, which is repeated while it fails in a way that may pass."""
    deadline = Deadline(within_ms)
    while True:
        try:
            return await attempt()
        except Exception as error:
            if not retries or not on(error) or not await deadline.sleep(backoff.next_ms()):
                raise
            retries -= 1

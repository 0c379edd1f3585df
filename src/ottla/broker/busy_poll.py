"""Looks for the next request a little longer before the loop goes to sleep.

To sleep and be woken costs more than many a request: a client that asks, waits and asks again spends most of its time
on it. So a loop that was woken just after it had gone to sleep stays awake for some turns the next time, and one that
has slept for long goes to sleep sooner, as kernels do in virtual machines (haltpoll). Each turn yields to whoever else
wants the core.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from time import perf_counter
from typing import Final

SHORT_SLEEP_S: Final = 100e-6
"""Whoever is woken so soon would rather have stayed awake."""
FEWEST_TURNS: Final = 4
MOST_TURNS: Final = 64
"""A turn in which nothing happens takes about a microsecond."""


class BusyPoll:
    """Keeps one loop awake."""

    __slots__ = ("_asleep_since", "_clock", "_left", "_polls", "turns")

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self._clock = clock
        self.turns = 0
        self._left = 0
        self._polls = False
        self._asleep_since = -SHORT_SLEEP_S

    def served(self) -> None:
        """A request has been answered in this turn of the loop; another may be on its way."""
        if not self._polls:
            self._adapt(self._clock() - self._asleep_since)
            self._polls = True
            asyncio.get_running_loop().call_soon(self._turn)
        self._left = self.turns

    def _adapt(self, slept_s: float) -> None:
        if slept_s > SHORT_SLEEP_S:
            self.turns //= 2
        else:
            self.turns = min(max(2 * self.turns, FEWEST_TURNS), MOST_TURNS)

    def _turn(self) -> None:
        if self._left:
            self._left -= 1
            os.sched_yield()
            asyncio.get_running_loop().call_soon(self._turn)
        else:
            self._polls = False
            self._asleep_since = self._clock()

"""Tells when nobody has asked a coordinator for a while, counted in turns of the loop.

A millisecond is long for members that start together on one machine, and it is the least that a timer can wait. A turn
of a loop that has nothing else to do takes less than a microsecond, and one of a busy loop as much longer as requests
take on their way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

FEWEST_TURNS: Final = 32
"""So many turns of rest are quiet; some 30 us if the loop is idle.

Eight times as many did not bring more members together: of 40 starts of ten consumers of librdkafka, 36 had all of them
in one epoch with either. They made a group of one wait for as long as all else takes.
"""
_OF_ALL: Final = 4
"""And this part of all turns so far: who came slowly is waited for longer."""


class Quiet:
    """Watches one machine, and calls `then` once it has had its quiet."""

    __slots__ = ("_still", "_then", "_turns", "_watches")

    def __init__(self, then: Callable[[], None]) -> None:
        self._then = then
        self._watches = False
        self._turns = 0
        self._still = 0

    def disturbed(self) -> None:
        """Somebody has asked."""
        self._still = 0

    def watch(self) -> None:
        """Begin to count, unless that is under way."""
        if not self._watches:
            self._watches = True
            self._turns = self._still = 0
            asyncio.get_running_loop().call_soon(self._turn)

    def stop(self) -> None:
        """Nobody wants to know any more."""
        self._watches = False

    def _turn(self) -> None:
        if not self._watches:
            return
        self._turns += 1
        self._still += 1
        if self._still < max(FEWEST_TURNS, self._turns // _OF_ALL):
            asyncio.get_running_loop().call_soon(self._turn)
            return
        self._watches = False
        self._then()

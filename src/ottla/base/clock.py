"""The time of day, and word for those who count on it when somebody sets the clock.

Deadlines that are kept in time of day would all come at once, or an hour late, when a clock is put forward or back: by
its administrator, by NTP, or because the machine was asleep. The steady clock beside it does none of that, and stands
still while the machine sleeps: what the two have moved apart is how far the time of day was set.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

_MS: Final = 1_000_000
"""In nanoseconds."""

STEP_MS: Final = 1_000
"""Less than this is left to the deadlines: clocks that are kept right are moved by less, or so slowly."""
_SAME_MOMENT_NS: Final = 10 * _MS


class Clock:
    """A time of day, and a steady time that nobody sets."""

    __slots__ = ("_steady_ns", "_time_ns")

    def __init__(
        self,
        time_ns: Callable[[], int] = time.time_ns,
        steady_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._time_ns = time_ns
        self._steady_ns = steady_ns

    def now_ms(self) -> int:
        """The time of day, as records carry it."""
        return self._time_ns() // _MS

    def watched(self, was_set: Callable[[int, int], None]) -> Callable[[], int]:
        """The same for somebody with deadlines: before it reads a time that was set, it hears by how much, and to what.

        It is read for every request, where a second clock would cost as much as the first: so the steady one is looked
        at when the time of day has left the second that began with the last look, as it does when it is set. If it is
        put back into that very second, by as much as nobody has read it, it is seen a second later.
        """
        time_ns, seen = self._time_ns, self._at_one_moment()
        from_ms = seen[0]
        until_ms = from_ms + STEP_MS

        def now_ms() -> int:
            read_ms = time_ns() // _MS
            return read_ms if from_ms <= read_ms < until_ms else look()

        def look() -> int:
            nonlocal seen, from_ms, until_ms
            before, seen = seen, self._at_one_moment()
            from_ms = seen[0]
            until_ms = from_ms + STEP_MS
            by_ms = (seen[0] - before[0]) - (seen[1] - before[1])
            if abs(by_ms) >= STEP_MS:
                was_set(by_ms, from_ms)
            return seen[0]

        return now_ms

    def _at_one_moment(self) -> tuple[int, int]:
        """Both times; a process that is stopped between two readings must not take that for a clock that was set."""
        while True:
            steady_ns, time_ns = self._steady_ns(), self._time_ns()
            if self._steady_ns() - steady_ns < _SAME_MOMENT_NS:
                return time_ns // _MS, steady_ns // _MS

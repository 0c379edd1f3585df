"""A broker's clock that can be set ahead."""

from __future__ import annotations

import time

from ottla.base.clock import Clock

_MS = 1_000_000


class MovableClock(Clock):
    """The time of day, and what it is ahead of it.

    For the broker that time has passed: to set the clock back is to set it, and nothing is due the later for it.
    """

    __slots__ = ("_ahead_ns", "_passed_ns")

    def __init__(self, ahead_ms: int = 0) -> None:
        super().__init__(
            lambda: time.time_ns() + self._ahead_ns, lambda: time.monotonic_ns() + self._passed_ns
        )
        self._ahead_ns = ahead_ms * _MS
        self._passed_ns = 0

    def set_ahead(self, ahead_ms: int) -> None:
        """Let it be so much ahead of the time of day from now on."""
        ahead_ns = ahead_ms * _MS
        self._passed_ns += max(0, ahead_ns - self._ahead_ns)
        self._ahead_ns = ahead_ns

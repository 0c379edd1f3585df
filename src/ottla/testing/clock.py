"""A broker's clock that can be set ahead."""

from __future__ import annotations

import time


class MovableClock:
    """The time of day, and what it is ahead of it."""

    __slots__ = ("ahead_ms",)

    def __init__(self, ahead_ms: int = 0) -> None:
        self.ahead_ms = ahead_ms

    def now_ms(self) -> int:
        """The time as the broker takes it to be."""
        return time.time_ns() // 1_000_000 + self.ahead_ms

"""Pure: how many more transactions may be open on a broker."""

from __future__ import annotations

from collections.abc import Callable


class Room:
    """Counts down from what was left when all were last counted: to count them takes longer than to begin one."""

    __slots__ = ("_count", "_left", "limit")

    def __init__(self, limit: int, count: Callable[[], int]) -> None:
        self.limit = limit
        self._count = count
        self._left = 0

    def take(self) -> bool:
        """Make room for one more; False if there is none."""
        if self._left <= 0:
            self._left = self.limit - self._count()
        self._left -= 1
        return self._left >= 0

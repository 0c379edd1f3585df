"""Pure: rates over the last hour, from counts that only grow."""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

MINUTES: Final = 60
_MINUTE_MS: Final = 60_000


class Point(NamedTuple):
    """A rate in the minute that ends at a time."""

    time_ms: int
    per_second: float


class Series:
    """Counts at times, kept as a rate now and a rate for each part of the last hour, of a minute unless said."""

    __slots__ = ("_last", "_minute", "_part_ms", "minutes", "now")

    def __init__(self, parts: int = MINUTES) -> None:
        self.now = 0.0
        self.minutes: deque[Point] = deque(maxlen=parts)
        self._part_ms = MINUTES * _MINUTE_MS // parts
        self._last: tuple[int, float] | None = None
        self._minute: tuple[int, float] | None = None

    def add(self, time_ms: int, count: float) -> None:
        """A count; one that is lower than the last one begins anew (a topic was made again)."""
        if self._last is None or count < self._last[1]:
            self.now = 0.0
            self._last = self._minute = (time_ms, count)
            return
        self.now = _rate(self._last, time_ms, count)
        self._last = (time_ms, count)
        assert self._minute is not None
        if time_ms - self._minute[0] >= self._part_ms:
            self.minutes.append(Point(time_ms, _rate(self._minute, time_ms, count)))
            self._minute = (time_ms, count)


def _rate(since: tuple[int, float], time_ms: int, count: float) -> float:
    passed_ms = time_ms - since[0]
    return (count - since[1]) * 1000 / passed_ms if passed_ms > 0 else 0.0

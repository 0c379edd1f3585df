"""Pure: how fast a group reads and others write, from looks at where both are."""

from __future__ import annotations

from ottla.inspection.human_units import short_duration

_WEIGHT = 0.5


class Pace:
    """Rates that follow the newest looks; None until there were two."""

    __slots__ = ("_last", "lag", "read_per_s", "written_per_s")

    def __init__(self) -> None:
        self._last: tuple[float, int, int] | None = None
        self.lag = 0
        self.read_per_s: float | None = None
        self.written_per_s: float | None = None

    def look(self, now_s: float, committed: int, end: int) -> None:
        """At this time so much was committed, and so much written."""
        self.lag = max(0, end - committed)
        if self._last is not None and now_s > self._last[0]:
            passed_s = now_s - self._last[0]
            # A reset moves offsets back: nobody reads at a negative speed.
            read = max(0.0, (committed - self._last[1]) / passed_s)
            written = max(0.0, (end - self._last[2]) / passed_s)
            self.read_per_s = _blend(self.read_per_s, read)
            self.written_per_s = _blend(self.written_per_s, written)
        self._last = (now_s, committed, end)

    @property
    def caught_up_in(self) -> str:
        """When there will be no lag, for people."""
        if not self.lag:
            return "now"
        if self.read_per_s is None or self.written_per_s is None:
            return "?"
        gained = self.read_per_s - self.written_per_s
        return short_duration(self.lag / gained) if gained > 0.001 else "never, at this pace"


def _blend(before: float | None, now: float) -> float:
    return now if before is None else before + _WEIGHT * (now - before)

"""A clock that stands still until somebody lets time pass, or sets it."""

from ottla.base.clock import Clock

_MS = 1_000_000


class ScriptedClock(Clock):
    """Time of day and steady time, in milliseconds, as a test wants them."""

    __slots__ = ("steady_ms", "time_ms")

    def __init__(self, time_ms: int) -> None:
        super().__init__(lambda: self.time_ms * _MS, lambda: self.steady_ms * _MS)
        self.time_ms = time_ms
        self.steady_ms = 0

    def passes(self, ms: int) -> None:
        """Time goes by."""
        self.time_ms += ms
        self.steady_ms += ms

    def is_set(self, by_ms: int) -> None:
        """Somebody puts the time of day forward or back, or the machine slept for so long."""
        self.time_ms += by_ms

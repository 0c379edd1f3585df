"""What performance tests count, and the lines in which Kafka's tools print it."""

from __future__ import annotations

from time import time
from typing import Final

from ottla.base.units import MiB

_PERCENTILES: Final = (0.5, 0.95, 0.99, 0.999)


def percentile(latencies: list[int], share: float) -> int:
    """The latency below which a share of them lies; they are sorted."""
    return latencies[min(int(share * len(latencies)), len(latencies) - 1)]


class Statistics:
    """Records that were written: how many, how large, how long each took."""

    def __init__(self, interval_ms: int, *, steady: bool = False) -> None:
        self.began = time()
        self.count = 0
        self.size_bytes = 0
        self.quiet = False
        self._steady = steady
        self._interval_s = interval_ms / 1000
        self._latencies: list[int] = []
        self._window_began = self.began
        self._window_count = 0
        self._window_bytes = 0

    @property
    def rate(self) -> float:
        """Records a second."""
        return self.count / max(time() - self.began, 0.001)

    def add(self, latency_ms: int, size_bytes: int, now: float) -> str | None:
        """Count a record; a line about the latest ones when it is time for it."""
        self.count += 1
        self.size_bytes += size_bytes
        self._latencies.append(latency_ms)
        self._window_count += 1
        self._window_bytes += size_bytes
        if now - self._window_began < self._interval_s:
            return None
        line = None if self.quiet else self._window(now)
        if self._steady and self.count == self._window_count:
            line = f"In steady state.\n{line}"
        self._window_began, self._window_count, self._window_bytes = now, 0, 0
        return line

    def _window(self, now: float) -> str:
        seconds, latest = now - self._window_began, self._latencies[-self._window_count :]
        return (
            f"{self._window_count} records sent, {self._window_count / seconds:.1f} records/sec "
            f"({self._window_bytes / seconds / MiB:.2f} MB/sec), "
            f"{sum(latest) / len(latest):.1f} ms avg latency, {max(latest):.1f} ms max latency."
        )

    def total(self) -> str:
        """The line about everything."""
        found = sorted(self._latencies)
        seconds = max(time() - self.began, 0.001)
        shares = [percentile(found, share) for share in _PERCENTILES]
        sort = " steady state" if self._steady else ""
        return (
            f"{self.count}{sort} records sent, {self.count / seconds:f} records/sec "
            f"({self.size_bytes / seconds / MiB:.2f} MB/sec), {sum(found) / len(found):.2f} ms avg "
            f"latency, {max(found):.2f} ms max latency, {shares[0]} ms 50th, {shares[1]} ms 95th, "
            f"{shares[2]} ms 99th, {shares[3]} ms 99.9th."
        )

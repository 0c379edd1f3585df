"""Pure: replication throttles (KIP-73): replicas that catch up are held back, those in sync never are.

A bucket of tokens, one for what a broker fetches and one for what it sends: it holds at most what a second brings, and
is overdrawn by the fetch that empties it. Unlike in Kafka the traffic of replicas in sync does not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_ALL: Final = "*"
_BURST_S: Final = 1
# A rate far below the size of a batch must not stop everything for an hour: Kafka's window forgets as fast.
_LONGEST_DEBT_S: Final = 10


def is_listed(replicas: Sequence[str], partition: int, broker_id: int) -> bool:
    """Whether a topic's list of throttled replicas has this one."""
    return bool(replicas) and (_ALL in replicas or f"{partition}:{broker_id}" in replicas)


class Throttle:
    """Says whether more may pass, by the rate that holds now."""

    __slots__ = ("_bytes", "_filled_ms", "_rate")

    def __init__(self) -> None:
        self._rate = -1
        self._bytes = 0.0
        self._filled_ms = 0

    def wait_ms(self, rate: int, now_ms: int) -> int:
        """How long nothing may pass; 0 if something may now. A rate of bytes a second."""
        self._fill(rate, now_ms)
        if self._bytes > 0:
            return 0
        return 1000 if rate == 0 else 1 + int(-self._bytes * 1000 / rate)

    def passed(self, size_bytes: int, rate: int, now_ms: int) -> None:
        """So much has passed."""
        self._fill(rate, now_ms)
        self._bytes = max(self._bytes - size_bytes, -_LONGEST_DEBT_S * rate)

    def _fill(self, rate: int, now_ms: int) -> None:
        if rate != self._rate:
            # What was owed under another rate is forgotten: whoever raises it wants it to hold at once.
            self._rate, self._bytes = rate, float(rate * _BURST_S)
        elif now_ms > self._filled_ms:
            since_s = (now_ms - self._filled_ms) / 1000
            self._bytes = min(self._bytes + rate * since_s, float(rate * _BURST_S))
        self._filled_ms = now_ms

"""Pure: which partition a record goes to, as the Java client decides it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate

_SEED = 0x9747B28C
_M = 0x5BD1E995
_MASK = 0xFFFF_FFFF
_CACHED_KEYS = 16_384


def murmur2(data: bytes) -> int:
    """Kafka's 32-bit murmur2 hash, unsigned."""
    length = len(data)
    h = (_SEED ^ length) & _MASK
    whole = length & ~3
    for pos in range(0, whole, 4):
        k = int.from_bytes(data[pos : pos + 4], "little") * _M & _MASK
        h = h * _M & _MASK ^ (k ^ k >> 24) * _M & _MASK
    if length > whole:
        h = (h ^ int.from_bytes(data[whole:], "little")) * _M & _MASK
    h = (h ^ h >> 13) * _M & _MASK
    return h ^ h >> 15


@lru_cache(_CACHED_KEYS)
def _positive_hash(key: bytes) -> int:
    return murmur2(key) & 0x7FFF_FFFF


def partition_for_key(key: bytes, partition_count: int) -> int:
    """The partition of a key; the same for every client that follows Kafka's."""
    return _positive_hash(key) % partition_count


class StickyPartition:
    """The partition of one topic that takes records without a key, until it has had its share (KIP-794).

    `pick(n)` draws a number below n. Partitions with a long queue are drawn less often, so that a
    slow broker does not collect what it cannot take.
    """

    __slots__ = ("_pick", "_produced_bytes", "current", "share_bytes")

    def __init__(self, share_bytes: int, pick: Callable[[int], int]) -> None:
        self.share_bytes = share_bytes
        self.current = -1
        self._pick = pick
        self._produced_bytes = 0

    def produced(self, size_bytes: int) -> bool:
        """Counts a finished batch; true once the partition has had its share."""
        self._produced_bytes += size_bytes
        return self._produced_bytes >= self.share_bytes

    def choose(self, available: Sequence[int], queued: Sequence[int]) -> int:
        """Begin with a new partition of those available; `queued` are the batches that wait for each."""
        longest = max(queued)
        bounds = list(accumulate(longest + 1 - waiting for waiting in queued))
        self.current = available[bisect_right(bounds, self._pick(bounds[-1]))]
        self._produced_bytes = 0
        return self.current

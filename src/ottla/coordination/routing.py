"""Pure: which partition of a coordinator's topic a group or a transactional id belongs to."""

from __future__ import annotations

from functools import lru_cache

_INT_MIN = -(2**31)


@lru_cache(maxsize=16_384)
def partition_for(key: str, partition_count: int) -> int:
    """As in Kafka, so that tools and old data agree: Java's hash of the name, without its sign."""
    number = java_hash(key)
    return (0 if number == _INT_MIN else abs(number)) % partition_count


def java_hash(text: str) -> int:
    """`String.hashCode`: over UTF-16 code units, wrapping at 32 bits."""
    number = 0
    units = memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H")
    for unit in units:
        number = (31 * number + unit) & 0xFFFFFFFF
    return number - (1 << 32) if number >= 1 << 31 else number

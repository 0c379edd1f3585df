"""Pure: which partition of a coordinator's topic a group or a transactional id belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import count

_INT_MIN = -(2**31)


@lru_cache(maxsize=16_384)
def partition_for(key: str, partition_count: int) -> int:
    """As in Kafka, so that tools and old data agree: Java's hash of the name, without its sign."""
    return _partition(java_hash(key), partition_count)


def names_beside(key: str, stem: str, partition_count: int) -> Iterator[str]:
    """Names that begin with `stem` and belong to the partition of `key`, without end."""
    wanted, hashed = partition_for(key, partition_count), java_hash(stem)
    for number in count():
        ending = str(number)
        if _partition(java_hash(ending, hashed), partition_count) == wanted:
            yield stem + ending


def java_hash(text: str, before: int = 0) -> int:
    """`String.hashCode`: over UTF-16 code units, wrapping at 32 bits; `before` is that of the text in front of it."""
    number = before
    units = memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H")
    for unit in units:
        number = (31 * number + unit) & 0xFFFFFFFF
    return number - (1 << 32) if number >= 1 << 31 else number


def _partition(number: int, partition_count: int) -> int:
    return (0 if number == _INT_MIN else abs(number)) % partition_count

"""Pure: the order in which Kafka's tools print what they keep in Java's hash maps.

People and scripts compare the output of two runs line by line, so the lines come in the same order here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from ottla.base.ids import TopicPartition

T = TypeVar("T")

_WORD: Final = (1 << 32) - 1
_FEWEST_BUCKETS: Final = 16


def strings_in_order(keys: Iterable[str]) -> list[str]:
    """Strings as a HashMap goes through them."""
    return _in_order(keys, _string_hash)


def partitions_in_order(keys: Iterable[TopicPartition]) -> list[TopicPartition]:
    """Partitions as a HashMap goes through them."""
    return _in_order(keys, _partition_hash)


def _in_order(keys: Iterable[T], hashed: Callable[[T], int]) -> list[T]:
    """By bucket; within one they stay as they came, or rather as they are sorted."""
    found = sorted(set(keys))  # type: ignore[type-var]
    buckets = _FEWEST_BUCKETS
    while len(found) > buckets * 3 // 4:
        buckets *= 2

    def bucket(key: T) -> int:
        value = hashed(key)
        return (value ^ value >> 16) & (buckets - 1)

    return sorted(found, key=bucket)


def _string_hash(text: str) -> int:
    value = 0
    for unit in memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H"):
        value = (31 * value + unit) & _WORD
    return value


def _partition_hash(partition: TopicPartition) -> int:
    return (31 * (31 + partition.partition) + _string_hash(partition.topic)) & _WORD

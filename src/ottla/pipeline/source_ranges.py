"""Pure: which offsets each task reads."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

from ottla.base.ids import TopicPartition


class Range(NamedTuple):
    """Offsets of one partition, from `start` up to but not including `end`."""

    partition: TopicPartition
    start: int
    end: int

    @property
    def size(self) -> int:
        """How many offsets; where there are gaps, fewer records."""
        return max(0, self.end - self.start)


def ranges_between(
    start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]
) -> list[Range]:
    """What lies between two sets of offsets, in order; partitions without a start are left out."""
    found = (Range(each, start[each], end[each]) for each in sorted(end) if each in start)
    return [each for each in found if each.size]


def split(
    ranges: Iterable[Range], min_partitions: int | None, max_records: int | None
) -> list[Range]:
    """The ranges cut into as many tasks as the options ask for, without cutting small ones needlessly."""
    pieces = [each for each in ranges if each.size]
    if max_records is not None:
        pieces = [
            part for each in pieces for part in _cut(each, math.ceil(each.size / max_records))
        ]
    if min_partitions is None or len(pieces) >= min_partitions:
        return pieces
    return sorted(_cut_large(pieces, min_partitions))


def _cut_large(pieces: list[Range], wanted: int) -> Iterator[Range]:
    """Cut those whose share of all offsets is worth more than one task."""
    total = sum(each.size for each in pieces)
    small = {each for each in pieces if _share(each.size, total, wanted) == 1}
    yield from small
    large = [each for each in pieces if each not in small]
    large_total = sum(each.size for each in large)
    left = max(1, wanted - len(small))
    for each in large:
        yield from _cut(each, _share(each.size, large_total, left))


def _share(size: int, total: int, wanted: int) -> int:
    return max(1, round(size / total * wanted))


def _cut(whole: Range, parts: int) -> Iterator[Range]:
    parts = max(1, min(parts, whole.size))
    bounds = [whole.start + whole.size * part // parts for part in range(parts + 1)]
    for start, end in pairwise(bounds):
        yield Range(whole.partition, start, end)

"""Filters on topic, partition, offset and timestamp, as limits on what is fetched."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, Final

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
)

from ottla.base.units import LONG_MAX
from ottla.pipeline.source_ranges import Range

_NEVER_NULL: Final = ("topic", "partition", "offset", "timestamp", "timestampType")


class Limits:
    """What is left to read once filters have spoken; it travels with a reader."""

    def __init__(self) -> None:
        self.first_offset = 0
        self.end_offset = LONG_MAX
        self.since_ms: int | None = None
        self._topics: set[str] | None = None
        self._partitions: list[tuple[str, Any]] = []

    def push(self, filters: Iterable[Filter]) -> list[Filter]:
        """Take what filters say; those that Spark has to apply as well are returned."""
        return [each for each in filters if not self._take(each)]

    def allows(self, what: Range) -> bool:
        """Whether anything of a partition may pass."""
        topic, partition = what.partition
        named = self._topics is None or topic in self._topics
        return named and all(_COMPARE[sort](partition, value) for sort, value in self._partitions)

    def within(self, what: Range) -> Range:
        """What may pass of a range, as far as offsets go."""
        start = max(what.start, self.first_offset)
        return what._replace(start=start, end=max(start, min(what.end, self.end_offset)))

    def _take(self, given: Filter) -> bool:
        attribute: tuple[str, ...] = getattr(given, "attribute", ())
        if len(attribute) != 1:
            return False
        if isinstance(given, IsNotNull):
            return attribute[0] in _NEVER_NULL
        value = getattr(given, "value", None)
        take = getattr(self, f"_take_{attribute[0]}", None)
        return take is not None and value is not None and bool(take(given, value))

    def _take_topic(self, given: Filter, value: Any) -> bool:
        if not isinstance(given, EqualTo | In):
            return False
        wanted = {value} if isinstance(given, EqualTo) else set(value)
        self._topics = wanted if self._topics is None else self._topics & wanted
        return True

    def _take_partition(self, given: Filter, value: Any) -> bool:
        sort = type(given).__name__
        if sort not in _COMPARE or isinstance(value, float):
            return False
        self._partitions.append((sort, value))
        return True

    def _take_offset(self, given: Filter, value: Any) -> bool:
        if isinstance(given, In):
            numbers = [each for each in value if each is not None]
            if numbers:
                self._between(min(numbers), max(numbers) + 1)
            return False
        bounds = {
            EqualTo: (value, value + 1),
            GreaterThan: (value + 1, LONG_MAX),
            GreaterThanOrEqual: (value, LONG_MAX),
            LessThan: (0, value),
            LessThanOrEqual: (0, value + 1),
        }.get(type(given))
        if bounds is None or not isinstance(value, int):
            return False
        self._between(*bounds)
        return True

    def _take_timestamp(self, given: Filter, value: Any) -> bool:
        # Producers may write any time: what comes after a late record may be early. So a time limits
        # only where to begin, and Spark still looks at each row.
        if isinstance(given, GreaterThan | GreaterThanOrEqual | EqualTo) and isinstance(
            value, datetime
        ):
            moment = value if value.tzinfo else value.replace(tzinfo=UTC)
            since_ms = max(0, int(moment.timestamp() * 1000) - 1)
            self.since_ms = max(self.since_ms or 0, since_ms)
        return False

    def _between(self, first: int, end: int) -> None:
        self.first_offset = max(self.first_offset, first)
        self.end_offset = min(self.end_offset, end)


_COMPARE: Final[dict[str, Callable[[int, Any], bool]]] = {
    "EqualTo": lambda partition, value: bool(partition == value),
    "In": lambda partition, value: partition in value,
    "GreaterThan": lambda partition, value: bool(partition > value),
    "GreaterThanOrEqual": lambda partition, value: bool(partition >= value),
    "LessThan": lambda partition, value: bool(partition < value),
    "LessThanOrEqual": lambda partition, value: bool(partition <= value),
}

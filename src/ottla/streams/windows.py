"""Pure: windows of time, as Kafka Streams defines them; everything in milliseconds of the records' timestamps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ottla.streams.errors import TopologyError

DEFAULT_RETENTION_MS = 24 * 60 * 60 * 1000


@dataclass(frozen=True, order=True)
class Windowed:
    """The key of a windowed table: a key and its window, whose start is inclusive.

    The end of tumbling and hopping windows is exclusive; that of sliding and session windows is the timestamp
    of the last record inside, so inclusive.
    """

    key: Any
    start_ms: int
    end_ms: int


@dataclass(frozen=True)
class TimeWindows:
    """Tumbling windows, aligned to the epoch; hopping ones if `advance_ms` is less than the size.

    A record belongs to each window with start <= timestamp < start + size. A window is closed when stream time
    (the highest timestamp that the aggregate has seen) >= end + grace; records for closed windows are late:
    they are dropped.
    """

    size_ms: int
    advance_ms: int | None = None
    grace_ms: int = 0

    def __post_init__(self) -> None:
        _positive("TimeWindows", "size_ms", self.size_ms)
        _not_negative("TimeWindows", "grace_ms", self.grace_ms)
        if self.advance_ms is not None and not 0 < self.advance_ms <= self.size_ms:
            raise TopologyError(
                f"TimeWindows: advance_ms is {self.advance_ms}, but must be above 0 and at most size_ms "
                f"({self.size_ms}): otherwise records would fall between the windows"
            )

    @property
    def step_ms(self) -> int:
        """How far the starts of two windows are apart."""
        return self.size_ms if self.advance_ms is None else self.advance_ms

    def starts(self, timestamp_ms: int) -> Iterator[int]:
        """The starts of the windows that a timestamp belongs to, ascending; none is before 0."""
        step = self.step_ms
        start = max(0, timestamp_ms - self.size_ms + step) // step * step
        while start <= timestamp_ms:
            yield start
            start += step


@dataclass(frozen=True)
class SlidingWindows:
    """A window for each set of records of a key that are no more than `time_difference_ms` apart.

    Windows are [t - difference, t] and [t + 1, t + 1 + difference] for each record's timestamp t, both ends
    inclusive; a window that would be empty is not made. Closed when stream time > end + grace.
    """

    time_difference_ms: int
    grace_ms: int = 0

    def __post_init__(self) -> None:
        _positive("SlidingWindows", "time_difference_ms", self.time_difference_ms)
        _not_negative("SlidingWindows", "grace_ms", self.grace_ms)


@dataclass(frozen=True)
class SessionWindows:
    """Windows that grow: a record belongs to the session that ends or begins at most `gap_ms` away from it.

    A session's start and end are the timestamps of its first and its last record. Sessions that a record
    connects are merged. Closed when stream time > end + gap + grace.
    """

    gap_ms: int
    grace_ms: int = 0

    def __post_init__(self) -> None:
        _positive("SessionWindows", "gap_ms", self.gap_ms)
        _not_negative("SessionWindows", "grace_ms", self.grace_ms)


@dataclass(frozen=True)
class JoinWindows:
    """Which records of two streams meet: left.timestamp - before <= right.timestamp <= left.timestamp + after.

    `JoinWindows(5_000)` is 5 seconds both ways. Unmatched records of left and outer joins are emitted once
    stream time has passed their timestamp by more than `after_ms` (`before_ms` for the right side) and the grace.
    """

    difference_ms: int
    grace_ms: int = 0
    before_ms: int | None = None
    after_ms: int | None = None

    def __post_init__(self) -> None:
        _not_negative("JoinWindows", "grace_ms", self.grace_ms)
        if self.before + self.after < 0:
            raise TopologyError(
                f"JoinWindows: before_ms ({self.before}) and after_ms ({self.after}) make a window that ends "
                "before it begins; their sum must not be negative"
            )

    @property
    def before(self) -> int:
        """How much older than the left record the right one may be."""
        return self.difference_ms if self.before_ms is None else self.before_ms

    @property
    def after(self) -> int:
        """How much newer than the left record the right one may be."""
        return self.difference_ms if self.after_ms is None else self.after_ms


Windows = TimeWindows | SlidingWindows | SessionWindows


def _positive(owner: str, name: str, value: int) -> None:
    if value <= 0:
        raise TopologyError(f"{owner}: {name} is {value}, but must be above 0 (milliseconds)")


def _not_negative(owner: str, name: str, value: int) -> None:
    if value < 0:
        raise TopologyError(f"{owner}: {name} is {value}, but must not be negative (milliseconds)")

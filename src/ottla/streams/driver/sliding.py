"""Sliding windows of the test driver: each record begins and ends windows, and falls into those that are there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from ottla.streams.driver.aggregates import FinalResults, OfStream, emits_final
from ottla.streams.driver.message import Message
from ottla.streams.driver.state import Entry
from ottla.streams.topology.aggregations import Aggregate, Cogroup
from ottla.streams.windows import SlidingWindows, Windowed

if TYPE_CHECKING:
    from ottla.streams.driver.run import Run


class RunSliding(OfStream):
    """For a record at time t with difference d: its left window [t - d, t], its right window [t + 1, t + 1 + d],
    the right window of the record before it, and all existing windows that t falls into.

    Windows that would begin before 0 are one: [0, d].
    """

    def __init__(self, node: Aggregate | Cogroup, run: Run) -> None:
        super().__init__(node, run)
        self.closing = -1
        self.final = FinalResults(self) if emits_final(node) else None

    def held(self, change: Message) -> Iterable[Message]:
        return [] if self.final is not None else super().held(change)

    def end_batch(self) -> None:
        super().end_batch()
        if self.final is not None and self.node.windows is not None:
            closing = self.closing_times[0] - self.node.windows.grace_ms
            self.forward(self.final.closed(None, closing, inclusive=True))

    def handle(self, message: Message, side: int) -> Iterable[Message]:
        if message.key is None or message.value is None:
            self.run.dropped(self.node, "null key or value")
            return
        windows = self.node.windows
        assert isinstance(windows, SlidingWindows)
        self.closing = self.advanced(side, message.timestamp_ms) - windows.grace_ms
        if message.timestamp_ms + windows.time_difference_ms < self.closing:
            self.run.dropped(self.node, "late")
            return
        changes = self._windows(message, windows.time_difference_ms, side)
        if self.final is None:
            yield from changes
            return
        if message.timestamp_ms >= windows.time_difference_ms and not self.run.batching:
            yield from self.final.closed(message, self.closing, inclusive=True)

    def _windows(self, message: Message, difference: int, side: int) -> list[Message]:
        time = message.timestamp_ms
        nearby = {
            key.start_ms: entry
            for key, entry in self.state.of_key(message.key)
            if max(0, time - 2 * difference) <= key.start_ms <= time + 1
        }
        if time < difference:
            return self._early(message, nearby, difference, side)
        return self._usual(message, nearby, difference, side)

    def _usual(
        self, message: Message, nearby: dict[int, Entry], difference: int, side: int
    ) -> list[Message]:
        """A record whose left window begins at 0 or later. `nearby` has each window as it was before."""
        time, changes = message.timestamp_ms, list[Message]()
        around: Entry | None = None
        ended: Entry | None = None
        previous: int | None = None
        for start in sorted(nearby, reverse=True):
            entry, end = nearby[start], start + difference
            if start == time + 1:
                continue
            if end < time:
                ended, previous = entry, entry.timestamp_ms
                break
            changes += self._updated(message, start, entry, difference, side)
            if end > time:
                around = around or entry
            elif entry.timestamp_ms < time:
                previous = entry.timestamp_ms
            else:
                return changes  # a record of this time was here before: all its windows are there
        if (
            previous is not None
            and previous + 1 not in nearby
            and previous + 1 + difference >= time
        ):
            changes += self._updated(message, previous + 1, None, difference, side)
        if time - difference not in nearby:
            joins = previous is not None and time - difference <= previous
            inherited = replace(ended, timestamp_ms=time) if joins and ended is not None else None
            changes += self._updated(message, time - difference, inherited, difference, side)
        return changes + self._right(message, nearby, around, difference)

    def _early(
        self, message: Message, nearby: dict[int, Entry], difference: int, side: int
    ) -> list[Message]:
        """A record before `difference`: its left window is [0, difference], that of all early records."""
        time, changes = message.timestamp_ms, list[Message]()
        around: Entry | None = None
        for start in sorted(nearby):
            if 0 < start <= time:
                around = nearby[start]
                changes += self._updated(message, start, around, difference, side)
        combined = nearby.get(0)
        if around is None and combined is not None and combined.timestamp_ms > time:
            around = combined
        changes += self._right(message, nearby, around, difference)
        if combined is not None and combined.timestamp_ms < time:
            start = combined.timestamp_ms + 1
            if start not in nearby:
                changes += self._updated(message, start, None, difference, side)
        return changes + self._updated(message, 0, combined, difference, side)

    def _right(
        self, message: Message, nearby: dict[int, Entry], around: Entry | None, difference: int
    ) -> list[Message]:
        """The record's right window, if there are newer records: it holds what the window around it did."""
        start = message.timestamp_ms + 1
        if start in nearby or around is None or around.timestamp_ms < start:
            return []
        key = Windowed(message.key, start, start + difference)
        return list(self.changed(message, key, None, around))

    def _updated(
        self, message: Message, start: int, entry: Entry | None, difference: int, side: int
    ) -> list[Message]:
        """Add the record to a window, which has an aggregate or begins with one."""
        end = start + difference
        if end < self.closing:
            self.run.dropped(self.node, "late")
            return []
        key, folding = Windowed(message.key, start, end), self.foldings[side]
        before = folding.initial() if entry is None else entry
        time = message.timestamp_ms
        if before.value is not None:
            time = max(time, before.timestamp_ms)
        after = folding.added(before, self.roots(message), time)
        existing = self.state.get(key)
        return list(self.changed(message, key, None if existing is None else existing.value, after))

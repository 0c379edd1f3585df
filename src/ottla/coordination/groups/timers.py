"""Pure: many deadlines in one heap; moving one later, as every heartbeat does, costs a dictionary entry and no more."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import TypeAlias

TimerKey: TypeAlias = tuple[str, str, str]
"""What is due (`join`, `session`, ...), in which group, for which member (empty: for the group)."""


class Timers:
    """Deadlines by key.

    A heap entry is never later than its key's deadline. One that turns out to be earlier, because the deadline has
    moved, goes back into the heap when it comes up; one whose key was cancelled is dropped.
    """

    __slots__ = ("_deadlines", "_heap", "_or_quiet", "_queued")

    def __init__(self) -> None:
        self._deadlines: dict[TimerKey, int] = {}
        self._queued: dict[TimerKey, int] = {}
        self._heap: list[tuple[int, TimerKey]] = []
        self._or_quiet: set[TimerKey] = set()

    def schedule(self, key: TimerKey, deadline_ms: int, *, or_quiet: bool = False) -> None:
        """Set or move the deadline of `key`, which `or_quiet` is due earlier if nobody asks for a while."""
        self._deadlines[key] = deadline_ms
        if or_quiet:
            self._or_quiet.add(key)
        else:
            self._or_quiet.discard(key)
        queued = self._queued.get(key)
        if queued is None or deadline_ms < queued:
            self._push(key, deadline_ms)

    def cancel(self, key: TimerKey) -> None:
        """Nothing is due for `key` any more."""
        self._deadlines.pop(key, None)
        self._or_quiet.discard(key)

    @property
    def wait_for_quiet(self) -> bool:
        """Whether something is due earlier if nobody asks for a while."""
        return bool(self._or_quiet)

    def quiet(self, now_ms: int) -> None:
        """Nobody has asked for a while: what waits for that is due."""
        for key in list(self._or_quiet):
            self.schedule(key, now_ms)

    def clock_was_set(self, by_ms: int) -> None:
        """All deadlines move with the clock, and so stay in their order."""
        self._deadlines = {key: at_ms + by_ms for key, at_ms in self._deadlines.items()}
        self._queued = {key: at_ms + by_ms for key, at_ms in self._queued.items()}
        self._heap = [(at_ms + by_ms, key) for at_ms, key in self._heap]

    def deadline_ms(self, key: TimerKey) -> int | None:
        """When `key` is due, if it is."""
        return self._deadlines.get(key)

    def next_deadline_ms(self) -> int | None:
        """No deadline is before this; it may be that the earliest is later, and `due` then gives nothing."""
        heap = self._heap
        while heap and heap[0][1] not in self._deadlines:
            self._pop()
        return heap[0][0] if heap else None

    def due(self, now_ms: int) -> Iterator[TimerKey]:
        """Take out, one after another, the keys whose deadline has come."""
        heap = self._heap
        while heap and heap[0][0] <= now_ms:
            key = self._pop()
            deadline_ms = self._deadlines.get(key)
            if deadline_ms is None or key in self._queued:
                continue
            if deadline_ms > now_ms:
                self._push(key, deadline_ms)
            else:
                del self._deadlines[key]
                self._or_quiet.discard(key)
                yield key

    def _push(self, key: TimerKey, at_ms: int) -> None:
        self._queued[key] = at_ms
        heapq.heappush(self._heap, (at_ms, key))

    def _pop(self) -> TimerKey:
        at_ms, key = heapq.heappop(self._heap)
        # An entry that was overtaken by an earlier one of the same key does not count.
        if self._queued.get(key) == at_ms:
            del self._queued[key]
        return key

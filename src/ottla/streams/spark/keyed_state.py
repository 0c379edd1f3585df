"""What the operators of a query remember of one key: put into them, taken out again, and when to look at it next.

Operators close windows by a time of their own; here that is Spark's watermark, the highest timestamp of all batches
before this one, for all keys alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from ottla.streams.driver.aggregates import OfStream
from ottla.streams.driver.joins import RunStreamStreamJoin
from ottla.streams.driver.operator import Operator
from ottla.streams.driver.processing import RunProcess
from ottla.streams.driver.tables import RunSuppress
from ottla.streams.errors import StreamsError
from ottla.streams.spark.operators import QueryRun
from ottla.streams.topology.stores import Store
from ottla.streams.windows import SessionWindows, SlidingWindows, TimeWindows

Place = tuple[bytes, int, int]
"""Where a store has an entry: the bytes of its key, start and end of its window."""

_BY_KIND: Final[dict[type[Operator[Any]], tuple[str, ...]]] = {
    RunSuppress: ("waiting",),
    RunProcess: ("timers",),
}
"""What operators keep beside their stores."""


@dataclass
class KeyState:
    """The state of one key: entries of stores, what else operators keep, and the timer that is set."""

    stores: dict[str, dict[Place, Any]] = field(default_factory=dict)
    operators: dict[str, dict[str, Any]] = field(default_factory=dict)
    timer_ms: int | None = None


class KeyedOperators:
    """The stateful operators of a query, which work on one key after the other."""

    def __init__(self, run: QueryRun) -> None:
        self.run = run
        inside = set(run.query.nodes)
        self._operators = [each for node, each in run.operators.items() if node in inside]
        self._stores = {store.name: store for store in run.query.stores}
        self._changelogs = {
            name: topic
            for name, store in self._stores.items()
            if (topic := run.plan.changelog(store)) is not None
        }

    def begin(self, state: KeyState, watermark_ms: int) -> None:
        """Give the operators the state of a key, and the time by which windows are closed."""
        for name in self._stores:
            if name in self.run.states:
                self.run.states[name]._entries = dict(state.stores.get(name, {}))
        for operator in self._operators:
            kept = state.operators.get(operator.node.name, {})
            for name in _BY_KIND.get(type(operator), ()):
                setattr(operator, name, dict(kept.get(name, {})))
            if isinstance(operator, RunStreamStreamJoin):
                operator.unmatched = dict(kept.get("unmatched", {}))
                for number, side in enumerate(operator.sides):
                    side._records = {
                        key: list(each) for key, each in kept.get(str(number), {}).items()
                    }
        self._set_times(watermark_ms)

    def finish(self, watermark_ms: int) -> None:
        """End the batch for this key: hand on what was held back, and what the watermark has closed."""
        self._set_times(watermark_ms)
        self.run.origin = None
        for operator in self._operators:
            operator.end_batch()

    def taken_out(self, before: KeyState, watermark_ms: int) -> KeyState:
        """Return the state of the key as it is now, without windows that are closed."""
        after = KeyState(timer_ms=before.timer_ms)
        for name in self._stores:
            if name in self.run.states and self.run.states[name]._entries:
                after.stores[name] = self.run.states[name]._entries
        for operator in self._operators:
            if isinstance(operator, OfStream):
                self._forget_closed(operator, after, watermark_ms)
            if isinstance(operator, RunProcess):
                _refuse_wall_clock(operator)
            kept = {name: getattr(operator, name) for name in _BY_KIND.get(type(operator), ())}
            if isinstance(operator, RunStreamStreamJoin):
                kept = _kept_of_join(operator, watermark_ms)
            kept = {name: value for name, value in kept.items() if value}
            if kept:
                after.operators[operator.node.name] = kept
        return after

    def changes(self, before: KeyState) -> Iterator[tuple[str, Store, Place, Any]]:
        """Yield what has changed in stores that have a changelog: topic, store, place, and the entry or None."""
        for name, topic in self._changelogs.items():
            if name not in self.run.states:
                continue
            was, now = before.stores.get(name, {}), self.run.states[name]._entries
            for place, kept in now.items():
                if was.get(place) is not kept:
                    yield topic, self._stores[name], place, kept
            for place in was.keys() - now.keys():
                yield topic, self._stores[name], place, None

    def deadline_ms(self, state: KeyState) -> int | None:
        """Return the watermark at which something is to be done for this key, though no record comes."""
        return min(self._deadlines(state), default=None)

    def _deadlines(self, state: KeyState) -> Iterator[int]:
        for operator in self._operators:
            node: Any = operator.node
            kept = state.operators.get(node.name, {})
            if isinstance(operator, OfStream) and node.windows is not None:
                entries = state.stores.get(node.stores[0].name, {})
                extra = _closes_after(node.windows)
                yield from (end + extra for _, _, end in entries)
            elif isinstance(operator, RunSuppress):
                final = node.kind == "until-window-closes"
                limit = node.grace_ms if final else node.time_limit_ms
                yield from (time + limit for time, _ in kept.get("waiting", {}).values())
            elif isinstance(operator, RunProcess):
                timers = kept.get("timers", {}).values()
                yield from (timer.at_ms for timer in timers if timer.clock == "event-time")
            elif isinstance(operator, RunStreamStreamJoin):
                yield from _join_deadlines(operator, kept)

    def _set_times(self, watermark_ms: int) -> None:
        for operator in self._operators:
            if isinstance(operator, OfStream):
                operator.stream_times = [watermark_ms] * len(operator.stream_times)
                operator.closing_times = list(operator.stream_times)
                final = getattr(operator, "final", None)
                if final is not None:
                    final._emitted_until = -1
            elif isinstance(operator, RunSuppress | RunStreamStreamJoin):
                operator.stream_time_ms = operator.closing_ms = watermark_ms
                if isinstance(operator, RunStreamStreamJoin):
                    for side in operator.sides:
                        side._stream_time_ms = watermark_ms
            elif isinstance(operator, RunProcess):
                operator.stream_time_ms = operator.due_ms = watermark_ms

    def _forget_closed(self, operator: OfStream, state: KeyState, watermark_ms: int) -> None:
        """Remove windows that take no more records, and whose results were handed on."""
        windows, name = operator.node.windows, operator.state.store.name
        if windows is None or name not in state.stores:
            return
        extra = _closes_after(windows)
        left = {
            place: kept
            for place, kept in state.stores[name].items()
            if place[2] + extra > watermark_ms
        }
        state.stores[name] = left
        if not left:
            del state.stores[name]


def _refuse_wall_clock(operator: RunProcess) -> None:
    if any(timer.clock == "wall-clock" for timer in operator.timers.values()):
        raise StreamsError(
            f"{operator.node.name}: set a timer of the wall clock, and with a watermark Spark has those of event time "
            "alone: use clock='event-time'"
        )


def _closes_after(windows: TimeWindows | SlidingWindows | SessionWindows) -> int:
    """How far the watermark must be behind a window's end for it to be closed."""
    if isinstance(windows, SessionWindows):
        return windows.gap_ms + windows.grace_ms + 1
    if isinstance(windows, SlidingWindows):
        return windows.grace_ms + 1
    return windows.grace_ms


def _kept_of_join(operator: RunStreamStreamJoin, watermark_ms: int) -> dict[str, Any]:
    windows = operator.node.windows
    oldest = watermark_ms - windows.before - windows.after - windows.grace_ms
    kept: dict[str, Any] = {"unmatched": operator.unmatched}
    for number, side in enumerate(operator.sides):
        records = {
            key: [each for each in found if each[0] >= oldest]
            for key, found in side._records.items()
        }
        kept[str(number)] = {key: found for key, found in records.items() if found}
    return kept


def _join_deadlines(operator: RunStreamStreamJoin, kept: dict[str, Any]) -> Iterator[int]:
    windows = operator.node.windows
    for time, side, _ in kept.get("unmatched", {}):
        after = windows.after if side == 0 else windows.before
        yield time + after + windows.grace_ms + 1
    retention = windows.before + windows.after + windows.grace_ms
    for number in range(len(operator.sides)):
        for found in kept.get(str(number), {}).values():
            yield from (time + retention + 1 for time, _ in found)

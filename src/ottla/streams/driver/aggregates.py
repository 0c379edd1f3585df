"""Operators of the test driver that aggregate: by key, by window, by session, of tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ottla.streams.driver.folding import Folding
from ottla.streams.driver.message import Message
from ottla.streams.driver.operator import NodeT, Operator
from ottla.streams.driver.state import Entry
from ottla.streams.topology.aggregations import Aggregate, Cogroup, TableAggregate
from ottla.streams.windows import SessionWindows, TimeWindows, Windowed

if TYPE_CHECKING:
    from ottla.streams.driver.run import Run


class Aggregating(Operator[NodeT]):
    """What all aggregates share: a store, and changes that a batch makes one of for each key."""

    def __init__(self, node: NodeT, run: Run) -> None:
        super().__init__(node, run)
        self.state = run.state(node.stores[0])
        self._changed: dict[Any, Message] = {}

    def enable_old_values(self, force: bool) -> bool:
        self.sends_old = True
        return True

    def get(self, key: Any) -> Entry | None:
        return self.state.get(key)

    def changed(self, message: Message, key: Any, old: Any, entry: Entry) -> Iterable[Message]:
        """Keep the new aggregate, and hand the change on: at once, or at the end of the batch."""
        self.state.put(key, entry)
        change = replace(
            message, key=key, value=entry.value, timestamp_ms=entry.timestamp_ms,
            old=old if self.sends_old else None,
        )  # fmt: skip
        return self.held(change)

    def held(self, change: Message) -> Iterable[Message]:
        """In a batch: keep the change, one for each key, with the first old value."""
        if not self.run.batching:
            return [change]
        place = self._identity(change.key)
        first = self._changed.pop(place, None)
        self._changed[place] = change if first is None else replace(change, old=first.old)
        return []

    def end_batch(self) -> None:
        changes = list(self._changed.values())
        self._changed.clear()
        self.forward(changes)

    def _identity(self, key: Any) -> Any:
        if isinstance(key, Windowed):
            return (self.state.key_bytes(key.key), key.start_ms, key.end_ms)
        return self.state.key_bytes(key)


class OfStream(Aggregating[Aggregate | Cogroup]):
    """Aggregates of streams: each parent has a folding of its own in a cogroup."""

    def __init__(self, node: Aggregate | Cogroup, run: Run) -> None:
        super().__init__(node, run)
        if isinstance(node, Cogroup):
            self.foldings = [
                Folding("aggregate", node.initializer, aggregator, node.merger)
                for aggregator in node.aggregators
            ]
        else:
            self.foldings = [Folding(node.kind, node.initializer, node.aggregator, node.merger)]
        self.stream_times = [-1] * len(self.foldings)
        self.closing_times = [-1] * len(self.foldings)

    def advanced(self, side: int, timestamp_ms: int) -> int:
        """Take note of a timestamp; return the time by which windows are closed.

        In a batch that is the stream time when the batch began. A cogroup's parts have a time of their own each.
        """
        self.stream_times[side] = max(self.stream_times[side], timestamp_ms)
        if not self.run.batching:
            self.closing_times[side] = self.stream_times[side]
        return self.closing_times[side]

    def end_batch(self) -> None:
        self.closing_times = list(self.stream_times)
        super().end_batch()


class RunAggregate(OfStream):
    """count, reduce and aggregate of a stream."""

    def handle(self, message: Message, side: int) -> Iterable[Message]:
        if message.key is None or message.value is None:
            self.run.dropped(self.node, "null key or value")
            return []
        return _folded(self, self.foldings[side], message, message.key, None)


def _folded(
    operator: OfStream, folding: Folding, message: Message, key: Any, known: Entry | None
) -> Iterable[Message]:
    """Add the message to the aggregate of a key."""
    before = operator.state.get(key) if known is None else known
    timestamp_ms = message.timestamp_ms
    if before is not None and before.value is not None:
        timestamp_ms = max(timestamp_ms, before.timestamp_ms)
    entry = folding.initial() if before is None or before.value is None else before
    after = folding.added(entry, operator.roots(message), timestamp_ms)
    return operator.changed(message, key, None if before is None else before.value, after)


class RunWindowed(OfStream):
    """Tumbling and hopping windows."""

    def __init__(self, node: Aggregate | Cogroup, run: Run) -> None:
        super().__init__(node, run)
        self.final = FinalResults(self) if emits_final(node) else None

    def handle(self, message: Message, side: int) -> Iterable[Message]:
        if message.key is None:
            self.run.dropped(self.node, "null key")
            return
        windows = self.node.windows
        assert isinstance(windows, TimeWindows)
        closing = self.advanced(side, message.timestamp_ms) - windows.grace_ms
        for start in windows.starts(message.timestamp_ms):
            end = start + windows.size_ms
            if end <= closing:
                self.run.dropped(self.node, "late")
                continue
            key = Windowed(message.key, start, end)
            changes = _folded(self, self.foldings[side], message, key, None)
            if self.final is None:
                yield from changes
        if self.final is not None and not self.run.batching:
            yield from self.final.closed(message, closing)

    def end_batch(self) -> None:
        super().end_batch()
        if self.final is not None:
            assert self.node.windows is not None
            self.forward(
                self.final.closed(None, self.closing_times[0] - self.node.windows.grace_ms)
            )

    def held(self, change: Message) -> Iterable[Message]:
        return [] if self.final is not None else super().held(change)


def emits_final(node: Aggregate | Cogroup) -> bool:
    """True if only the last result of a window is handed on."""
    return isinstance(node, Aggregate) and node.emit == "on-window-close"


class FinalResults:
    """Windows whose results have not been handed on yet, though they are closed."""

    def __init__(self, operator: OfStream) -> None:
        self._operator = operator
        self._emitted_until = -1

    def closed(
        self, message: Message | None, closing_ms: int, inclusive: bool = False
    ) -> list[Message]:
        """The results of windows that closed by now: by end, start and key. Inclusive ends close later."""
        limit = closing_ms - 1 if inclusive else closing_ms
        if limit <= self._emitted_until:
            return []
        due = sorted(
            (key.end_ms, key.start_ms, self._operator.state.key_bytes(key.key), index, key, entry)
            for index, (key, entry) in enumerate(self._operator.state.items())
            if self._emitted_until < key.end_ms <= limit
        )
        self._emitted_until = limit
        headers = () if message is None else message.headers
        return [
            Message(key, entry.value, self._operator_time(key, entry), headers)
            for *_, key, entry in due
        ]

    def _operator_time(self, key: Windowed, entry: Entry) -> int:
        sessions = isinstance(self._operator.node.windows, SessionWindows)
        return key.end_ms if sessions else entry.timestamp_ms


class RunSessions(OfStream):
    """Session windows."""

    def __init__(self, node: Aggregate | Cogroup, run: Run) -> None:
        super().__init__(node, run)
        self.final = FinalResults(self) if emits_final(node) else None

    def handle(self, message: Message, side: int) -> Iterable[Message]:
        if message.key is None:
            self.run.dropped(self.node, "null key")
            return
        windows = self.node.windows
        assert isinstance(windows, SessionWindows)
        time = message.timestamp_ms
        closing = self.advanced(side, time) - windows.grace_ms - windows.gap_ms
        touched = [
            (key, entry)
            for key, entry in self.state.of_key(message.key)
            if key.end_ms >= max(time - windows.gap_ms, closing)
            and key.start_ms <= time + windows.gap_ms
        ]
        start = min([time, *(key.start_ms for key, _ in touched)])
        end = max([time, *(key.end_ms for key, _ in touched)])
        if end < closing:
            self.run.dropped(self.node, "late")
        else:
            changes = self._merged(message, Windowed(message.key, start, end), touched, side)
            if self.final is None:
                yield from changes
        if self.final is not None and not self.run.batching:
            yield from self.final.closed(message, closing, inclusive=True)

    def _merged(
        self, message: Message, session: Windowed, touched: list[tuple[Windowed, Entry]], side: int
    ) -> list[Message]:
        folding = self.foldings[side]
        entry = folding.initial()
        for _, other in touched:
            entry = folding.merged(message.key, entry, other)
        changes: list[Message] = []
        if (session.start_ms, session.end_ms) != (message.timestamp_ms, message.timestamp_ms):
            for key, other in touched:
                gone = Entry(None, key.end_ms)
                changes += self.changed(replace(message, headers=()), key, other.value, gone)
        after = folding.added(entry, self.roots(message), session.end_ms)
        changes += self.changed(replace(message, headers=()), session, None, after)
        return changes

    def held(self, change: Message) -> Iterable[Message]:
        return [] if self.final is not None else super().held(change)

    def end_batch(self) -> None:
        super().end_batch()
        windows = self.node.windows
        if self.final is not None and isinstance(windows, SessionWindows):
            closing = self.closing_times[0] - windows.grace_ms - windows.gap_ms
            self.forward(self.final.closed(None, closing, inclusive=True))


class RunTableAggregate(Aggregating[TableAggregate]):
    """Aggregates of regrouped tables: subtract the old row, then add the new one."""

    def __init__(self, node: TableAggregate, run: Run) -> None:
        super().__init__(node, run)
        self.folding = Folding(node.kind, node.initializer, node.adder, None, node.subtractor)

    def handle(self, message: Message, side: int) -> Iterable[Message]:
        before = self.state.get(message.key)
        entry, time = before, message.timestamp_ms
        if before is not None:
            time = max(time, before.timestamp_ms)
        if message.old is not None and entry is not None:
            entry = self.folding.subtracted(
                entry, self.roots(replace(message, value=message.old)), time
            )
        if message.value is not None:
            if entry is None or entry.value is None:
                entry = self.folding.initial() if entry is None or entry.state is None else entry
            entry = self.folding.added(entry, self.roots(message), time)
        after = Entry(None, time) if entry is None else replace(entry, timestamp_ms=time)
        return self.changed(message, message.key, None if before is None else before.value, after)

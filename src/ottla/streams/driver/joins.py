"""Operators of the test driver that join a stream."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ottla.streams.driver.message import Message
from ottla.streams.driver.operator import NodeT, Operator, joined
from ottla.streams.serdes.serde import Serde
from ottla.streams.topology.joins import StreamGlobalTableJoin, StreamStreamJoin, StreamTableJoin
from ottla.streams.topology.stores import Store

if TYPE_CHECKING:
    from ottla.streams.driver.run import Run


class _Side:
    """The records of one side of a join, for as long as partners may come."""

    def __init__(self, store: Store, retention_ms: int) -> None:
        self.store = store
        self._retention_ms = retention_ms
        self._records: dict[bytes, list[tuple[int, bytes]]] = {}
        self._stream_time_ms = -1

    def put(self, message: Message) -> None:
        """Keep a record, unless it is so old that nothing can meet it."""
        self._stream_time_ms = max(self._stream_time_ms, message.timestamp_ms)
        data = _serde(self.store.value_serde).serialize(message.value)
        key = _serde(self.store.key_serde).serialize(message.key)
        self._records.setdefault(key, []).append((message.timestamp_ms, data))

    def between(self, key: Any, first_ms: int, last_ms: int) -> list[tuple[int, Any]]:
        """The records of a key, by timestamp, then as they came."""
        first_ms = max(first_ms, self._stream_time_ms - self._retention_ms + 1)
        records = self._records.get(_serde(self.store.key_serde).serialize(key), [])
        serde = _serde(self.store.value_serde)
        found = [each for each in records if first_ms <= each[0] <= last_ms]
        return [(time, serde.deserialize(data)) for time, data in sorted(found, key=_time)]


def _time(record: tuple[int, bytes]) -> int:
    return record[0]


def _serde(serde: Serde | None) -> Serde:
    if serde is None:
        raise ValueError("the store has no serde")
    return serde


class RunStreamStreamJoin(Operator[StreamStreamJoin]):
    """join, left_join and outer_join of streams."""

    def __init__(self, node: StreamStreamJoin, run: Run) -> None:
        super().__init__(node, run)
        windows = node.windows
        retention = windows.before + windows.after + windows.grace_ms
        self.sides = (_Side(node.left_store, retention), _Side(node.right_store, retention))
        self.stream_time_ms = -1
        self.closing_ms = -1
        self.outer = (node.kind in ("left", "outer"), node.kind == "outer")
        self.unmatched: dict[tuple[int, int, bytes], list[Message]] = {}

    def handle(self, message: Message, side: int) -> Iterable[Message]:
        self.stream_time_ms = max(self.stream_time_ms, message.timestamp_ms)
        if not self.run.batching:
            self.closing_ms = self.stream_time_ms
        if message.key is None and message.value is not None and self.outer[side]:
            yield self._result(message, side, None, message.timestamp_ms)
            return
        if message.key is None or message.value is None:
            self.run.dropped(self.node, "null key or value")
            return
        if message.timestamp_ms == self.stream_time_ms:
            yield from self._closed(message)
        yield from self._matched(message, side)
        self.sides[side].put(message)

    def _matched(self, message: Message, side: int) -> Iterable[Message]:
        windows, time = self.node.windows, message.timestamp_ms
        before, after = (windows.before, windows.after)[:: 1 if side == 0 else -1]
        partners = self.sides[1 - side].between(message.key, max(0, time - before), time + after)
        key = _serde(self.sides[0].store.key_serde).serialize(message.key)
        for other_time, other in partners:
            self.unmatched.pop((other_time, 1 - side, key), None)
            yield self._result(message, side, other, max(time, other_time))
        if self.outer[side] and not partners:
            if time + after + windows.grace_ms < self.closing_ms:
                yield self._result(message, side, None, time)
            else:
                self.unmatched.setdefault((time, side, key), []).append(message)

    def _closed(self, message: Message | None) -> Iterable[Message]:
        """Records whose window has closed without a partner: by timestamp, right ones first, by key."""
        windows = self.node.windows
        for time, side, key in sorted(
            self.unmatched, key=lambda each: (each[0], -each[1], each[2])
        ):
            after = windows.after if side == 0 else windows.before
            if time + after + windows.grace_ms < self.closing_ms:
                for waiting in self.unmatched.pop((time, side, key)):
                    headers = waiting.headers if message is None else message.headers
                    yield replace(self._result(waiting, side, None, time), headers=headers)

    def end_batch(self) -> None:
        self.closing_ms = self.stream_time_ms
        self.forward(list(self._closed(None)))

    def _result(self, message: Message, side: int, other: Any, timestamp_ms: int) -> Message:
        left, right = (message.value, other) if side == 0 else (other, message.value)
        node = self.node
        value = joined(node.joiner, node.with_key, message.key, left, right, timestamp_ms)
        return replace(message, value=value, timestamp_ms=timestamp_ms)


class _WithTable(Operator[NodeT]):
    """Joins of a stream's records with rows of a table; changes of the table make nothing."""

    def __init__(self, node: NodeT, run: Run) -> None:
        super().__init__(node, run)
        self.parent(1).materialize()

    def selected(self, message: Message) -> Any:
        """The table's key."""
        return message.key

    def handle(self, message: Message, side: int) -> Iterable[Message]:
        if side == 1:
            return []
        node: Any = self.node
        key = self.selected(message)
        if message.value is None or (key is None and node.kind == "inner"):
            self.run.dropped(self.node, "null key or value")
            return []
        row = None if key is None else self.parent(1).get(key)
        if row is None and node.kind == "inner":
            return []
        other = None if row is None else row.value
        value = joined(
            node.joiner, node.with_key, message.key, message.value, other, message.timestamp_ms
        )
        return [replace(message, value=value)]


class RunStreamTableJoin(_WithTable[StreamTableJoin]):
    """join and left_join with a table."""


class RunStreamGlobalTableJoin(_WithTable[StreamGlobalTableJoin]):
    """join and left_join with a global table."""

    def selected(self, message: Message) -> Any:
        return self.key_value(self.node.selector, message)

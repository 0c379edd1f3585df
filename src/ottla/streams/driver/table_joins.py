"""Operators of the test driver that join tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ottla.streams.driver.message import Message
from ottla.streams.driver.operator import Operator, joined
from ottla.streams.driver.state import Entry
from ottla.streams.serdes.by_name import serde_for
from ottla.streams.topology.functions import is_function
from ottla.streams.topology.joins import ForeignKeyJoin, TableTableJoin

if TYPE_CHECKING:
    from ottla.streams.driver.run import Run


class RunTableTableJoin(Operator[TableTableJoin]):
    """join, left_join and outer_join of tables by their keys."""

    def __init__(self, node: TableTableJoin, run: Run) -> None:
        super().__init__(node, run)
        self.state = None if node.store is None else run.state(node.store)
        needs_old = {"inner": (), "left": (0,), "outer": (0, 1)}[node.kind]
        for side in needs_old:
            self.parent(side).enable_old_values(True)
        for side in (0, 1):
            self.parent(side).materialize()

    def materialize(self) -> None:
        """The tables joined have their stores already."""

    def enable_old_values(self, force: bool) -> bool:
        self.parent(0).enable_old_values(True)
        self.parent(1).enable_old_values(True)
        self.sends_old = True
        return True

    def handle(self, message: Message, side: int) -> Iterable[Message]:
        if message.key is None:
            self.run.dropped(self.node, "null key")
            return []
        row = self.parent(1 - side).get(message.key)
        other = None if row is None else row.value
        if not self._concerns(message, side, other):
            return []
        timestamp = _later(message, row).timestamp_ms
        old = self._result(message, side, message.old, other, timestamp) if self.sends_old else None
        new = self._result(message, side, message.value, other, timestamp)
        if self.state is not None:
            before = self.state.get(message.key)
            old = before.value if self.sends_old and before is not None else None
            self.state.put(message.key, Entry(new, timestamp))
        return [replace(message, value=new, old=old, timestamp_ms=timestamp)]

    def _concerns(self, message: Message, side: int, other: Any) -> bool:
        """False if there is no result before and none after."""
        if other is not None:
            return True
        optional = self.node.kind == "outer" or (self.node.kind == "left" and side == 0)
        return optional and not (message.value is None and message.old is None)

    def _result(self, message: Message, side: int, mine: Any, other: Any, timestamp_ms: int) -> Any:
        left, right = (mine, other) if side == 0 else (other, mine)
        return self._joined(message.key, left, right, timestamp_ms)

    def _joined(self, key: Any, left: Any, right: Any, timestamp_ms: int) -> Any:
        kind = self.node.kind
        if left is None and (kind != "outer" or right is None):
            return None
        if right is None and kind == "inner":
            return None
        return joined(self.node.joiner, self.node.with_key, key, left, right, timestamp_ms)

    def get(self, key: Any) -> Entry | None:
        if self.state is not None:
            return self.state.get(key)
        left, right = self.parent(0).get(key), self.parent(1).get(key)
        timestamp = max(-1 if row is None else row.timestamp_ms for row in (left, right))
        value = self._joined(
            key,
            None if left is None else left.value,
            None if right is None else right.value,
            timestamp,
        )
        return None if value is None else Entry(value, timestamp)


class RunForeignKeyJoin(Operator[ForeignKeyJoin]):
    """join and left_join by a foreign key: subscriptions are kept by foreign key, then by the row's own."""

    def __init__(self, node: ForeignKeyJoin, run: Run) -> None:
        super().__init__(node, run)
        self.state = run.state(node.store)
        self.materialized = node.store.queryable
        self.subscriptions: dict[bytes, dict[bytes, Any]] = {}
        self.parent(0).enable_old_values(True)
        self.parent(1).enable_old_values(True)

    def materialize(self) -> None:
        self.materialized = True

    def enable_old_values(self, force: bool) -> bool:
        if force or self.materialized:
            self.materialized = self.sends_old = True
        return self.sends_old

    def handle(self, message: Message, side: int) -> Iterable[Message]:
        if message.key is None:
            self.run.dropped(self.node, "null key")
            return []
        return self._row_changed(message) if side == 1 else self._subscribed(message)

    def _subscribed(self, message: Message) -> Iterable[Message]:
        """A left row has changed: one result, or none."""
        left = self.node.kind == "left"
        old, new = (
            self._foreign_key(message, message.old),
            self._foreign_key(message, message.value),
        )
        if message.old is None and message.value is None:
            return
        own = self._bytes(0, message.key)
        if old is not None and (new is None or self._bytes(1, new) != self._bytes(1, old)):
            self.subscriptions.get(self._bytes(1, old), {}).pop(own, None)
        if new is None:
            if old is not None or left:
                before = None if old is None or left else self.parent(1).get(old)
                yield from self._result(message.key, message.value, None, _later(message, before))
            return
        self.subscriptions.setdefault(self._bytes(1, new), {})[own] = message.key
        row = self.parent(1).get(new)
        same = old is not None and self._bytes(1, new) == self._bytes(1, old)
        if row is None and not left and (old is None or same):
            return
        other = None if row is None else row.value
        yield from self._result(message.key, message.value, other, _later(message, row))

    def _row_changed(self, message: Message) -> Iterable[Message]:
        """A right row has changed: a result for each left row that names it, by the bytes of its key."""
        subscribed = self.subscriptions.get(self._bytes(1, message.key), {})
        for _, key in sorted(subscribed.items()):
            row = self.parent(0).get(key)
            if row is not None:
                yield from self._result(key, row.value, message.value, message)

    def _result(self, key: Any, left: Any, right: Any, message: Message) -> Iterable[Message]:
        value = None
        if left is not None and (right is not None or self.node.kind == "left"):
            node = self.node
            value = joined(node.joiner, node.with_key, key, left, right, message.timestamp_ms)
        before = self.state.get(key)
        self.state.put(key, Entry(value, message.timestamp_ms))
        old = before.value if self.sends_old and before is not None else None
        return [replace(message, key=key, value=value, old=old)]

    def _foreign_key(self, message: Message, value: Any) -> Any:
        if value is None:
            return None
        node, row = self.node, replace(message, value=value)
        if is_function(node.extractor) and not node.extractor_with_key:
            return node.extractor(value)
        return self.key_value(node.extractor, row)

    def _bytes(self, side: int, key: Any) -> bytes:
        parent = self.node.parents[side]
        return (parent.key_serde or serde_for(parent.key_type)).serialize(key)

    def get(self, key: Any) -> Entry | None:
        return self.state.get(key)


def _later(message: Message, row: Entry | None) -> Message:
    """The message, with the row's timestamp if that is higher."""
    if row is None or row.timestamp_ms <= message.timestamp_ms:
        return message
    return replace(message, timestamp_ms=row.timestamp_ms)

"""Operators of the test driver for tables: sources, filters, maps, regrouping, suppress."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ottla.streams.driver.message import Message
from ottla.streams.driver.operator import NodeT, Operator
from ottla.streams.driver.state import Entry
from ottla.streams.driver.stateless import passes
from ottla.streams.topology.aggregations import Suppress, TableGroup
from ottla.streams.topology.functions import is_expression
from ottla.streams.topology.sources import GlobalTableSource, TableSource
from ottla.streams.topology.stateless import TableFilter, TableMapValues, ToTable
from ottla.streams.windows import Windowed

if TYPE_CHECKING:
    from ottla.streams.driver.run import Run


class RunTable(Operator[TableSource | GlobalTableSource | ToTable]):
    """A topic or a stream as a table. Whether it has a store, Kafka Streams decides by who asks for it."""

    def __init__(self, node: Any, run: Run) -> None:
        super().__init__(node, run)
        self.materialized = node.store.queryable or isinstance(node, GlobalTableSource)
        self.state = run.state(node.store)

    def handle(self, message: Message, side: int) -> Iterable[Message]:
        if message.key is None:
            self.run.dropped(self.node, "null key")
            return []
        before = self.state.get(message.key)
        self.state.put(message.key, Entry(message.value, message.timestamp_ms))
        old = before.value if self.sends_old and before is not None else None
        return [replace(message, old=old)]

    def get(self, key: Any) -> Entry | None:
        return self.state.get(key)

    def materialize(self) -> None:
        self.materialized = True

    def enable_old_values(self, force: bool) -> bool:
        if force or self.materialized:
            self.materialized = self.sends_old = True
        return self.sends_old


class Derived(Operator[NodeT]):
    """A table computed of another one, with or without a store of its own."""

    def __init__(self, node: NodeT, run: Run) -> None:
        super().__init__(node, run)
        store = next(iter(node.stores), None)
        self.state = None if store is None else run.state(store)

    def enable_old_values(self, force: bool) -> bool:
        if self.state is not None or self.parent().enable_old_values(force):
            self.sends_old = True
        return self.sends_old

    def materialize(self) -> None:
        if self.state is None:
            self.parent().materialize()

    def get(self, key: Any) -> Entry | None:
        if self.state is not None:
            return self.state.get(key)
        row = self.parent().get(key)
        if row is None:
            return None
        value = self.computed(Message(key, row.value, row.timestamp_ms))
        return None if value is None else Entry(value, row.timestamp_ms)

    def computed(self, message: Message) -> Any:
        """The value of a row here, of its value above; None if it is none."""
        raise NotImplementedError

    def change(self, message: Message) -> Message:
        """The change here that comes of a change above."""
        new, old = self.computed(message), None
        if self.sends_old and self.state is not None:
            before = self.state.get(message.key)
            old = None if before is None else before.value
        elif self.sends_old:
            old = self.computed(replace(message, value=message.old))
        return replace(message, value=new, old=old)

    def kept(self, change: Message) -> Iterable[Message]:
        """Put a change into the store, if there is one, and hand it on."""
        if self.state is not None:
            self.state.put(change.key, Entry(change.value, change.timestamp_ms))
        return [change]


class RunTableFilter(Derived[TableFilter]):
    """filter of a table."""

    def __init__(self, node: TableFilter, run: Run) -> None:
        super().__init__(node, run)
        self.sends_old = self.parent().enable_old_values(False)

    def computed(self, message: Message) -> Any:
        if message.value is None:
            return None
        node = self.node
        verdict = self.key_value(node.predicate, message)
        passed = passes(verdict, node.negated, is_expression(node.predicate))
        return message.value if passed else None

    def handle(self, message: Message, side: int) -> Iterable[Message]:
        change = self.change(message)
        if self.sends_old and change.value is None and change.old is None:
            return []
        return self.kept(change)


class RunTableMapValues(Derived[TableMapValues]):
    """map_values of a table."""

    def computed(self, message: Message) -> Any:
        if message.value is None:
            return None
        return self.mapped(self.node.mapper, self.node.with_key, message)

    def handle(self, message: Message, side: int) -> Iterable[Message]:
        return self.kept(self.change(message))


class RunTableGroup(Operator[TableGroup]):
    """group_by of a table: what to add has a value, what to subtract an old one, under the group's key."""

    def __init__(self, node: TableGroup, run: Run) -> None:
        super().__init__(node, run)
        self.parent().enable_old_values(True)

    def handle(self, message: Message, side: int) -> Iterable[Message]:
        new, old = self._pair(message, message.value), self._pair(message, message.old)
        if new is not None and old is not None and new[0] == old[0]:
            return [replace(message, key=new[0], value=new[1], old=old[1])]
        changes = []
        if old is not None:
            changes.append(replace(message, key=old[0], value=None, old=old[1]))
        if new is not None:
            changes.append(replace(message, key=new[0], value=new[1], old=None))
        return changes

    def _pair(self, message: Message, value: Any) -> tuple[Any, Any] | None:
        if value is None:
            return None
        row, selector = replace(message, value=value), self.node.selector
        if isinstance(selector, tuple):
            pair = tuple(self.key_value(part, row) for part in selector)
        else:
            pair = tuple(self.key_value(selector, row))
        return None if pair[0] is None or pair[1] is None else (pair[0], pair[1])


class RunSuppress(Operator[Suppress]):
    """suppress: by time, then by the key's bytes."""

    def __init__(self, node: Suppress, run: Run) -> None:
        super().__init__(node, run)
        self.parent().enable_old_values(True)
        self.stream_time_ms = -1
        self.closing_ms = -1
        self.waiting: dict[bytes, tuple[int, Message]] = {}

    def enable_old_values(self, force: bool) -> bool:
        self.sends_old = self.parent().enable_old_values(force)
        return self.sends_old

    def materialize(self) -> None:
        self.parent().materialize()

    def get(self, key: Any) -> Entry | None:
        waiting = self.waiting.get(self._order(key))
        if waiting is None:
            return self.parent().get(key)
        change = waiting[1]
        return None if change.old is None else Entry(change.old, change.timestamp_ms)

    def handle(self, message: Message, side: int) -> Iterable[Message]:
        final = self.node.kind == "until-window-closes"
        self.stream_time_ms = max(self.stream_time_ms, message.timestamp_ms)
        order = self._order(message.key)
        if order in self.waiting:
            time, first = self.waiting[order]
            self.waiting[order] = (time, replace(message, old=first.old))
        else:
            time = message.key.end_ms if final else message.timestamp_ms
            self.waiting[order] = (time, message)
        if not self.run.batching:
            self.closing_ms = self.stream_time_ms
        yield from self._due()

    def end_batch(self) -> None:
        self.closing_ms = self.stream_time_ms
        self.forward(list(self._due()))

    def _due(self) -> Iterable[Message]:
        node = self.node
        limit = node.grace_ms if node.kind == "until-window-closes" else node.time_limit_ms
        for time, order in sorted((time, order) for order, (time, _) in self.waiting.items()):
            crowded = node.max_records is not None and len(self.waiting) > node.max_records
            if time + limit > self.closing_ms and not crowded:
                return
            _, message = self.waiting.pop(order)
            if message.value is not None or node.kind != "until-window-closes":
                yield message

    def _order(self, key: Any) -> bytes:
        serde = self.node.key_serde
        if serde is not None:
            return serde.serialize(key)
        return repr(key.key if isinstance(key, Windowed) else key).encode()

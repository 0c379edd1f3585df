"""Pure: KTable: the newest value of each key; and GlobalKTable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ottla.streams.dsl.flow import Flow, chosen_serde, declared_serde, result_type
from ottla.streams.dsl.functions import checked, pair, predicate, record_roots
from ottla.streams.dsl.suppressed import Suppressed
from ottla.streams.dsl.table_joins import join_by_foreign_key, join_tables
from ottla.streams.errors import TopologyError
from ottla.streams.serdes.by_name import serde_of
from ottla.streams.topology.aggregations import Aggregate, Cogroup, Suppress, TableGroup
from ottla.streams.topology.joins import JoinKind
from ottla.streams.topology.node import Node, OnError
from ottla.streams.topology.stateless import TableFilter, TableMapValues, ToStream
from ottla.streams.topology.stores import Store
from ottla.streams.windows import SessionWindows, Windows

if TYPE_CHECKING:
    from ottla.streams.dsl.grouped_table import KGroupedTable
    from ottla.streams.dsl.kstream import KStream

Given = Any
"""A function, or an expression of `f`."""


class KTable(Flow):
    """A table: what it hands on are changes. Every method makes a new one; this one stays as it is.

    `store` names a store of the result, which can be queried then.
    """

    def filter(
        self,
        predicate_: Given,
        *,
        store: str | None = None,
        name: str | None = None,
        on_error: OnError | None = None,
    ) -> KTable:
        """Keep the rows for which predicate(key, value) is true."""
        return self._filter(predicate_, False, store, name, on_error)

    def filter_not(
        self,
        predicate_: Given,
        *,
        store: str | None = None,
        name: str | None = None,
        on_error: OnError | None = None,
    ) -> KTable:
        """Drop the rows for which predicate(key, value) is true."""
        return self._filter(predicate_, True, store, name, on_error)

    def _filter(
        self, given: Given, negated: bool, store: str | None, name: str | None, on_error: OnError | None
    ) -> KTable:  # fmt: skip
        name = self.graph.name(name, "KTABLE-FILTER-")
        node = self._add(
            TableFilter, name, on_error=on_error, predicate=predicate(given, self.node, name),
            negated=negated, store=self._kept(store, None, name),
        )  # fmt: skip
        return KTable(self.graph, node)

    def map_values(
        self,
        mapper: Given,
        *,
        with_key: bool = False,
        returns: object = None,
        value: object = None,
        store: str | None = None,
        name: str | None = None,
        on_error: OnError | None = None,
    ) -> KTable:
        """Make another value of each row: mapper(value), or (key, value) if `with_key`, or an expression."""
        name = self.graph.name(name, "KTABLE-MAPVALUES-")
        arguments = "key, value" if with_key else "value"
        function, inferred = checked(mapper, arguments, record_roots(self.node), name)
        kind = result_type(returns, inferred)
        value = value or declared_serde(returns)
        serde = None if value is None else serde_of(value, name)
        kept = None if store is None else chosen_serde(value, None, kind, name)
        node = self._add(
            TableMapValues, name, on_error=on_error, mapper=function, with_key=with_key,
            store=self._kept(store, kept, name), value_serde=kept or serde, value_type=kind,
        )  # fmt: skip
        return KTable(self.graph, node)

    def _kept(self, store: str | None, value_serde: Any, operator: str) -> Store | None:
        if store is None:
            return None
        node = self.node
        key = chosen_serde(None, node.key_serde, node.key_type, operator)
        value = value_serde or chosen_serde(None, node.value_serde, node.value_type, operator)
        return self.graph.own_store(Store(store, "key-value", key, value, True), operator)

    def to_stream(self, selector: Given = None, *, name: str | None = None) -> KStream:
        """The changes of the table as a stream; deletions have a null value. `selector` makes other keys."""
        from ottla.streams.dsl.kstream import KStream

        node = self._add(ToStream, self.graph.name(name, "KTABLE-TOSTREAM-"))
        stream = KStream(self.graph, node)
        return stream if selector is None else stream.select_key(selector)

    def suppress(self, suppressed: Suppressed, *, name: str | None = None) -> KTable:
        """Hold changes back: `Suppressed.until_window_closes()` or `Suppressed.until_time_limit(ms)`."""
        if not isinstance(suppressed, Suppressed):
            raise TopologyError(
                "suppress takes Suppressed.until_window_closes() or Suppressed.until_time_limit(ms), "
                f"not {suppressed!r}"
            )
        operator = self.graph.name(name, "KTABLE-SUPPRESS-")
        final = suppressed.time_limit_ms is None
        windows = windows_of(self.node)
        if final and windows is None:
            raise TopologyError(
                f"{operator}: until_window_closes() needs a windowed table; "
                "use Suppressed.until_time_limit(ms), or windowed_by() before the aggregate"
            )
        store = (
            f"{name}-store" if name is not None else self.graph.new_store_name("KTABLE-SUPPRESS-")
        )
        kept = Store(store, "suppress", self.node.key_serde, self.node.value_serde)
        node = self._add(
            Suppress, operator, kind="until-window-closes" if final else "until-time-limit",
            store=self.graph.own_store(kept, operator), grace_ms=_grace(windows) if final else 0,
            time_limit_ms=suppressed.time_limit_ms or 0, max_records=suppressed.max_records,
        )  # fmt: skip
        return KTable(self.graph, node)

    def group_by(
        self,
        selector: Given,
        *,
        key: object = None,
        value: object = None,
        name: str | None = None,
        on_error: OnError | None = None,
    ) -> KGroupedTable:
        """Group the rows anew: selector(key, value) returns the new key and value, or is a pair of expressions."""
        from ottla.streams.dsl.grouped_table import KGroupedTable

        operator = self.graph.name(name, "KTABLE-SELECT-")
        function, key_type, value_type = pair(selector, self.node, operator)
        node = self._add(
            TableGroup, operator, on_error=on_error, selector=function,
            key_serde=None, value_serde=None, key_type=key_type, value_type=value_type,
        )  # fmt: skip
        return KGroupedTable(Flow(self.graph, node, True), key, value, name)

    def join(
        self, other: KTable, joiner: Given, *, foreign_key: Given = None, **options: Any
    ) -> KTable:
        """Join with a table: by key, or by `foreign_key`, a function (value) that makes the other table's key.

        joiner(left, right), or (key, left, right) with `with_key=True`, or an expression of `f.left` and
        `f.right`. Options: `returns`, `store`, `value` (the result's serde), `name`, `on_error`.
        """
        return self._join("inner", other, joiner, foreign_key, options)

    def left_join(
        self, other: KTable, joiner: Given, *, foreign_key: Given = None, **options: Any
    ) -> KTable:
        """As `join`; rows without partner are joined with None."""
        return self._join("left", other, joiner, foreign_key, options)

    def outer_join(self, other: KTable, joiner: Given, **options: Any) -> KTable:
        """As `left_join`, of both tables."""
        return self._join("outer", other, joiner, None, options)

    def _join(
        self, kind: JoinKind, other: KTable, joiner: Given, foreign_key: Given, options: dict[str, Any]
    ) -> KTable:  # fmt: skip
        if not isinstance(other, KTable):
            raise TopologyError(
                f"a table is joined with a table, not {type(other).__name__}: make a table of a stream with "
                "to_table(), or begin the join at the stream"
            )
        if foreign_key is None:
            return KTable(self.graph, join_tables(self, other, kind, joiner, **options))
        return KTable(
            self.graph, join_by_foreign_key(self, other, kind, joiner, foreign_key, **options)
        )


class GlobalKTable(Flow):
    """A table that every worker has whole: streams are joined with it by any key."""


def windows_of(node: Node) -> Windows | None:
    """The windows of the aggregate that a table comes from, None if it has none."""
    while isinstance(node, TableFilter | TableMapValues | Suppress):
        node = node.parents[0]
    return node.windows if isinstance(node, Aggregate | Cogroup) else None


def _grace(windows: Windows | None) -> int:
    if windows is None:
        return 0
    return windows.grace_ms + (windows.gap_ms if isinstance(windows, SessionWindows) else 0)

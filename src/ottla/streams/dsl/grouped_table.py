"""Pure: KGroupedTable: a table's rows under other keys, to be aggregated and kept right."""

from __future__ import annotations

from typing import Any

from ottla.streams.dsl.aggregates import check_aggregation
from ottla.streams.dsl.flow import Flow, chosen_serde, declared_serde, result_type
from ottla.streams.dsl.functions import check_arguments, checked, record_roots
from ottla.streams.dsl.ktable import KTable
from ottla.streams.errors import TopologyError
from ottla.streams.expressions.build import is_expression_like, tree_of
from ottla.streams.expressions.tree import Aggregation, Tree, children
from ottla.streams.topology.aggregations import AggregateKind, TableAggregate
from ottla.streams.topology.node import OnError
from ottla.streams.topology.processing import Repartition
from ottla.streams.topology.stores import Store
from ottla.streams.types import ANY, LONG, Type


class KGroupedTable:
    """What KTable.group_by() makes. Options of all: `store`, `key`, `value`, `name`, `on_error`."""

    def __init__(self, rows: Flow, key: object, value: object, name: str | None) -> None:
        self._rows = rows
        self._key = key
        self._value = value
        self._name = name

    def count(self, **options: Any) -> KTable:
        """Count the rows of each group."""
        return self._table("KTABLE-AGGREGATE-", "count", (None, None, None), LONG, options)

    def reduce(self, adder: Any, subtractor: Any, **options: Any) -> KTable:
        """Combine rows by adder(aggregate, value), and take them out again by subtractor(aggregate, value)."""
        for function in (adder, subtractor):
            _check(function, "aggregate, value", "reduce")
        kind = self._rows.node.value_type
        return self._table("KTABLE-REDUCE-", "reduce", (None, adder, subtractor), kind, options)

    def aggregate(
        self,
        initializer: Any,
        adder: Any = None,
        subtractor: Any = None,
        *,
        returns: object = None,
        **options: Any,
    ) -> KTable:
        """Fold rows by adder(key, value, aggregate), take them out by subtractor(key, value, aggregate).

        Or give one expression of f.sum and f.count, which know how to subtract.
        """
        if adder is None and is_expression_like(initializer):
            operator = "aggregate of a grouped table"
            roots = record_roots(self._rows.node)
            tree, kind = checked(initializer, "", roots, operator, aggregates=True)
            check_aggregation(tree_of(initializer), operator)
            _check_subtractable(tree_of(initializer), operator)
            functions: tuple[Any, Any, Any] = (None, tree, None)
        else:
            _check(initializer, "", "aggregate")
            for function in (adder, subtractor):
                _check(function, "key, value, aggregate", "aggregate")
            functions, kind = (initializer, adder, subtractor), ANY
        options["value"] = options.get("value") or declared_serde(returns)
        return self._table(
            "KTABLE-AGGREGATE-", "aggregate", functions, result_type(returns, kind), options
        )

    def _table(
        self,
        prefix: str,
        kind: AggregateKind,
        functions: tuple[Any, Any, Any],
        type_: Type,
        options: dict[str, Any],
    ) -> KTable:
        return _aggregate(
            self._rows, self._key, self._value, self._name, prefix, kind, functions, type_, **options
        )  # fmt: skip


def _aggregate(
    rows: Flow,
    row_key: object,
    row_value: object,
    topic_name: str | None,
    prefix: str,
    kind: AggregateKind,
    functions: tuple[Any, Any, Any],
    type_: Type,
    *,
    store: str | None = None,
    key: object = None,
    value: object = None,
    name: str | None = None,
    on_error: OnError | None = None,
) -> KTable:
    graph = rows.graph
    store_name = graph.new_store_name("KTABLE-AGGREGATE-") if store is None else store
    sink = graph.suffixed(name, "-sink", "KSTREAM-SINK-")
    source = graph.suffixed(name, "-source", "KSTREAM-SOURCE-")
    operator = graph.name(name, prefix)
    node = rows.node
    key_serde = chosen_serde(
        row_key if key is None else key, node.key_serde, node.key_type, operator
    )
    topic = rows._add(
        Repartition, source, topic=topic_name or store_name, sink_name=sink, source_name=source,
        carries="table", key_serde=key_serde,
        value_serde=chosen_serde(row_value, node.value_serde, node.value_type, operator),
    )  # fmt: skip
    if kind == "reduce" and value is None:
        value = topic.value_serde
    value_serde = chosen_serde(value, None, type_, operator)
    kept = Store(store_name, "key-value", key_serde, value_serde, store is not None)
    initializer, adder, subtractor = functions
    aggregate = Flow(graph, topic)._add(
        TableAggregate, operator, on_error=on_error, kind=kind, store=graph.own_store(kept, operator),
        initializer=initializer, adder=adder, subtractor=subtractor,
        value_serde=value_serde, value_type=type_,
    )  # fmt: skip
    return KTable(graph, aggregate)


def _check(function: Any, arguments: str, operator: str) -> None:
    operator = f"{operator} of a grouped table"
    if not callable(function) or is_expression_like(function):
        raise TopologyError(
            f"{operator}: rows come and go, so it takes functions to add and to subtract; this is {function!r}"
        )
    check_arguments(function, arguments, operator)


def _check_subtractable(tree: Tree, operator: str) -> None:
    if isinstance(tree, Aggregation) and tree.kind not in ("count", "sum"):
        raise TopologyError(
            f"{operator}: f.{tree.kind} cannot be taken back when a row goes: use f.count and f.sum, "
            "or functions that add and subtract"
        )
    for child in children(tree):
        _check_subtractable(child, operator)

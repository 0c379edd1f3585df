"""Pure: what count, reduce and aggregate have in common, of streams, windows and cogroups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ottla.streams.dsl.flow import Flow, chosen_serde, internal_topic, result_type
from ottla.streams.dsl.functions import check_arguments, checked, record_roots
from ottla.streams.errors import TopologyError
from ottla.streams.expressions.build import is_expression_like, tree_of
from ottla.streams.expressions.tree import (
    Aggregation,
    Field,
    Tree,
    children,
    has_aggregation,
)
from ottla.streams.serdes.serde import Serde
from ottla.streams.serdes.windowed import SessionWindowedSerde, TimeWindowedSerde
from ottla.streams.topology.aggregations import AggregateKind
from ottla.streams.topology.stores import Store, StoreKind
from ottla.streams.types import ANY, LONG, Type
from ottla.streams.windows import SessionWindows, SlidingWindows, TimeWindows, Windows


@dataclass(frozen=True)
class Grouping:
    """What group_by_key() keeps for the aggregate: serdes of the repartition topic, and its name."""

    key: Serde | None
    value: Serde | None
    name: str | None


def grouped_flow(stream: Flow, grouping: Grouping, store_name: str) -> Flow:
    """The stream to aggregate: behind a repartition topic if the key may have changed."""
    if not stream.repartition_needed:
        return stream
    topic = store_name if grouping.name is None else grouping.name
    node = internal_topic(stream, topic, grouping.key, grouping.value)
    return Flow(stream.graph, node)


@dataclass(frozen=True)
class Computation:
    """What an aggregate computes, checked."""

    kind: AggregateKind
    initializer: Any
    aggregator: Any
    merger: Any
    type: Type


def counted() -> Computation:
    """count()."""
    return Computation("count", None, None, None, LONG)


def reduced(reducer: Any, stream: Flow, operator: str) -> Computation:
    """reduce(reducer)."""
    if is_expression_like(reducer):
        raise TopologyError(
            f"{operator}: reduce takes a function (old, new); an expression aggregates by itself: "
            "aggregate(f.sum(f.value.amount))"
        )
    roots: Mapping[str, Type] = {}
    function, _ = checked(reducer, "old, new", roots, operator)
    return Computation("reduce", None, function, None, stream.node.value_type)


def aggregated(
    first: Any, aggregator: Any, merger: Any, stream: Flow, operator: str, returns: object = None
) -> Computation:
    """aggregate(initializer, aggregator), or aggregate(expression)."""
    if aggregator is None and is_expression_like(first):
        function, kind = checked(first, "", record_roots(stream.node), operator, aggregates=True)
        check_aggregation(tree_of(first), operator)
        return Computation("aggregate", None, function, None, result_type(returns, kind))
    if aggregator is None or not callable(first) or is_expression_like(first):
        raise TopologyError(
            f"{operator}: aggregate takes initializer() and aggregator(key, value, aggregate), "
            "or one expression of f.count, f.sum, f.min, f.max, f.first and f.last"
        )
    check_arguments(first, "", operator)
    check_arguments(aggregator, "key, value, aggregate", operator)
    if merger is not None:
        check_arguments(merger, "key, left, right", operator)
    return Computation("aggregate", first, aggregator, merger, result_type(returns, ANY))


def check_aggregation(tree: Tree, operator: str) -> None:
    """Raise TopologyError unless every field is inside an aggregation, none of which is inside another."""
    if isinstance(tree, Aggregation):
        if tree.operand is not None and has_aggregation(tree.operand):
            raise TopologyError(f"{operator}: an aggregation inside another has no meaning")
        return
    if isinstance(tree, Field) and tree.root != "key":
        raise TopologyError(
            f"{operator}: f.{tree.root} is of one record, the aggregate of many: "
            "say which with f.first, f.last, f.min, f.max or f.sum"
        )
    for child in children(tree):
        check_aggregation(child, operator)


def windowed_key_serde(windows: Windows, inner: Serde) -> Serde:
    """The serde of a windowed table's key."""
    if isinstance(windows, SessionWindows):
        return SessionWindowedSerde(inner)
    size = windows.size_ms if isinstance(windows, TimeWindows) else windows.time_difference_ms
    return TimeWindowedSerde(inner, size)


def aggregate_store(
    flow: Flow,
    name: str,
    windows: Windows | None,
    key: object,
    value: object,
    type_: Type,
    queryable: bool,
    retention_ms: int | None,
    operator: str,
) -> Store:
    """The store of an aggregate; its key serde is that of the plain key, also with windows."""
    node = flow.node
    key_serde = chosen_serde(key, node.key_serde, node.key_type, operator)
    value_serde = chosen_serde(value, None, type_, operator)
    kind: StoreKind = "key-value"
    size: int | None = None
    needed: int | None = None
    if isinstance(windows, SessionWindows):
        kind, needed = "session", windows.gap_ms + windows.grace_ms
    elif isinstance(windows, TimeWindows):
        kind, size, needed = "window", windows.size_ms, windows.size_ms + windows.grace_ms
    elif isinstance(windows, SlidingWindows):
        kind, size = "window", windows.time_difference_ms
        needed = 2 * windows.time_difference_ms + windows.grace_ms
    if needed is not None and retention_ms is not None and retention_ms < needed:
        raise TopologyError(
            f"{operator}: retention_ms is {retention_ms}, but windows stay open for {needed} ms: keep them longer"
        )
    kept = needed if retention_ms is None else retention_ms
    return Store(name, kind, key_serde, value_serde, queryable, kept, size)

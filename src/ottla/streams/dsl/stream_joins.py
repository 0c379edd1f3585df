"""Pure: the joins of a stream: with a stream, a table, a global table."""

from __future__ import annotations

from typing import Any

from ottla.streams.dsl.flow import (
    Flow,
    chosen_serde,
    declared_serde,
    internal_topic,
    result_type,
    same_keys,
)
from ottla.streams.dsl.functions import checked, record_roots
from ottla.streams.errors import TopologyError
from ottla.streams.serdes.serde import Serde
from ottla.streams.topology.functions import Function
from ottla.streams.topology.joins import (
    JoinKind,
    StreamGlobalTableJoin,
    StreamStreamJoin,
    StreamTableJoin,
)
from ottla.streams.topology.node import Node, OnError
from ottla.streams.topology.stores import Store
from ottla.streams.types import LONG, Type
from ottla.streams.windows import JoinWindows


def checked_joiner(
    given: object, left: Node, right: Node, with_key: bool, operator: str
) -> tuple[Function, Type]:
    """Return the joiner, and its result's type."""
    roots = {
        "key": left.key_type,
        "left": left.value_type,
        "right": right.value_type,
        "timestamp": LONG,
    }
    return checked(given, "key, left, right" if with_key else "left, right", roots, operator)


def join_stream(
    left: Flow,
    right: Flow,
    kind: JoinKind,
    joiner: object,
    windows: JoinWindows | None,
    *,
    with_key: bool = False,
    returns: object = None,
    store: str | None = None,
    key: object = None,
    value: object = None,
    other_value: object = None,
    name: str | None = None,
    on_error: OnError | None = None,
) -> StreamStreamJoin:
    """Add a windowed join of two streams."""
    if windows is None:
        raise TopologyError(
            "two streams are joined within a time: give JoinWindows(difference_ms, grace_ms) as the third "
            "argument, or make one of them a table with to_table()"
        )
    graph = left.graph
    left = _repartitioned(left, name, "-left", key, value)
    right = _repartitioned(right, name, "-right", key, other_value)
    left_outer, right_outer = kind in ("left", "outer"), kind == "outer"
    windowed = (
        graph.suffixed(name, "-this-windowed", "KSTREAM-WINDOWED-"),
        graph.suffixed(name, "-other-windowed", "KSTREAM-WINDOWED-"),
    )
    this_suffix = "-outer-this-join" if right_outer else "-this-join"
    other_suffix = "-outer-other-join" if left_outer else "-other-join"
    generated = (
        graph.new_name("KSTREAM-OUTERTHIS-" if right_outer else "KSTREAM-JOINTHIS-"),
        graph.new_name("KSTREAM-OUTEROTHER-" if left_outer else "KSTREAM-JOINOTHER-"),
    )
    names = generated if name is None else (name + this_suffix, name + other_suffix)
    operator = graph.suffixed(name, "-merge", "KSTREAM-MERGE-")
    same_keys(left, right, operator)
    bases = generated if store is None else (store + this_suffix, store + other_suffix)
    key_serde = chosen_serde(key, left.node.key_serde, left.node.key_type, operator)
    stores = _join_stores(
        bases, windows, key_serde,
        chosen_serde(value, left.node.value_serde, left.node.value_type, operator),
        chosen_serde(other_value, right.node.value_serde, right.node.value_type, operator),
    )  # fmt: skip
    unmatched = None
    if left_outer:
        suffix = "-outer-shared-join" if right_outer else "-left-shared-join"
        number = generated[0].rpartition("-")[2]
        shared = f"KSTREAM-OUTERSHARED-{number}" if store is None else store + suffix
        unmatched = Store(f"{shared}-store", "join", key_serde)
    function, inferred = checked_joiner(joiner, left.node, right.node, with_key, operator)
    return left._add(
        StreamStreamJoin, operator, parents=(left.node, right.node), on_error=on_error, kind=kind,
        joiner=function, with_key=with_key, windows=windows, windowed_names=windowed, join_names=names,
        left_store=graph.own_store(stores[0], operator), right_store=graph.own_store(stores[1], operator),
        unmatched_store=unmatched, key_serde=key_serde, value_serde=declared_serde(returns),
        value_type=result_type(returns, inferred),
    )  # fmt: skip


def _join_stores(
    bases: tuple[str, str], windows: JoinWindows, key: Serde, left: Serde, right: Serde
) -> tuple[Store, Store]:
    size = windows.before + windows.after
    return (
        Store(f"{bases[0]}-store", "join", key, left, False, size + windows.grace_ms, size),
        Store(f"{bases[1]}-store", "join", key, right, False, size + windows.grace_ms, size),
    )


def _repartitioned(flow: Flow, name: str | None, suffix: str, key: object, value: object) -> Flow:
    if not flow.repartition_needed:
        return flow
    topic = flow.node.name if name is None else name + suffix
    node = internal_topic(flow, topic, key, value)
    return Flow(flow.graph, node)


def join_table(
    left: Flow,
    table: Flow,
    kind: Any,
    joiner: object,
    *,
    with_key: bool = False,
    returns: object = None,
    key: object = None,
    value: object = None,
    name: str | None = None,
    on_error: OnError | None = None,
) -> StreamTableJoin:
    """Add a join of a stream with a table."""
    left = _repartitioned(left, name, "", key, value)
    operator = left.graph.name(name, "KSTREAM-JOIN-" if kind == "inner" else "KSTREAM-LEFTJOIN-")
    same_keys(left, table, operator)
    function, inferred = checked_joiner(joiner, left.node, table.node, with_key, operator)
    return left._add(
        StreamTableJoin, operator, parents=(left.node, table.node), on_error=on_error, kind=kind,
        joiner=function, with_key=with_key, value_serde=declared_serde(returns),
        value_type=result_type(returns, inferred),
    )  # fmt: skip


def join_global_table(
    left: Flow,
    table: Flow,
    kind: Any,
    joiner: object,
    *,
    key_selector: object = None,
    with_key: bool = False,
    returns: object = None,
    name: str | None = None,
    on_error: OnError | None = None,
) -> StreamGlobalTableJoin:
    """Add a join of a stream with a global table."""
    operator = left.graph.name(name, "KSTREAM-LEFTJOIN-")  # inner ones too, in Kafka Streams
    if key_selector is None:
        raise TopologyError(
            f"{operator}: a global table is joined by a key of the stream's value: "
            "give key_selector=, a function (key, value) or an expression"
        )
    selector, _ = checked(key_selector, "key, value", record_roots(left.node), operator)
    function, inferred = checked_joiner(joiner, left.node, table.node, with_key, operator)
    return left._add(
        StreamGlobalTableJoin, operator, parents=(left.node, table.node), on_error=on_error, kind=kind,
        selector=selector, joiner=function, with_key=with_key, value_serde=declared_serde(returns),
        value_type=result_type(returns, inferred),
    )  # fmt: skip

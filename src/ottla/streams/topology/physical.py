"""Pure: a topology as Kafka Streams would run it: sources, processors and sinks, cut into sub-topologies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import singledispatch

from ottla.streams.topology.aggregations import Cogroup
from ottla.streams.topology.joins import (
    ForeignKeyJoin,
    StreamGlobalTableJoin,
    StreamStreamJoin,
    StreamTableJoin,
    TableTableJoin,
)
from ottla.streams.topology.materialized import lookup_stores, materialized
from ottla.streams.topology.node import Node
from ottla.streams.topology.processing import Repartition, Sink
from ottla.streams.topology.sources import GlobalTableSource, StreamSource, TableSource
from ottla.streams.topology.stateless import ToTable


@dataclass(frozen=True)
class Source:
    """Reads topics; `topics` is the text between brackets."""

    name: str
    topics: str
    is_global: bool = False


@dataclass(frozen=True)
class Processor:
    """Handles records, with the stores it uses."""

    name: str
    parents: tuple[str, ...]
    stores: tuple[str, ...] = ()


@dataclass(frozen=True)
class PhysicalSink:
    """Writes a topic: `topic: NAME`, or how it is computed."""

    name: str
    parents: tuple[str, ...]
    topic: str


Part = Source | Processor | PhysicalSink


def parts_of(nodes: Iterable[Node]) -> tuple[Part, ...]:
    """Return what Kafka Streams makes of the nodes, in its order."""
    nodes = tuple(nodes)
    kept = materialized(nodes)
    found: list[Part] = []
    for node in nodes:
        for part in _parts(node):
            on_demand = isinstance(node, TableSource | ToTable | ForeignKeyJoin)
            if (
                on_demand
                and node not in kept
                and part.name == node.name
                and isinstance(part, Processor)
            ):
                part = Processor(part.name, part.parents)
            found.append(part)
    return tuple(found)


def _above(node: Node) -> tuple[str, ...]:
    return tuple(parent.name for parent in node.parents)


@singledispatch
def _parts(node: Node) -> Iterator[Part]:
    yield Processor(node.name, _above(node), tuple(store.name for store in node.stores))


@_parts.register
def _(node: StreamSource) -> Iterator[Part]:
    yield Source(node.name, node.pattern or f"[{', '.join(sorted(node.topics))}]")


@_parts.register
def _(node: TableSource) -> Iterator[Part]:
    yield Source(node.source_name, f"[{node.topic}]")
    yield Processor(node.name, (node.source_name,), (node.store.name,))


@_parts.register
def _(node: GlobalTableSource) -> Iterator[Part]:
    yield Source(node.source_name, f"[{node.topic}]", is_global=True)
    yield Processor(node.name, (node.source_name,), (node.store.name,))


@_parts.register
def _(node: Repartition) -> Iterator[Part]:
    topic, above = f"{node.topic}-repartition", _above(node)
    if node.filter_name is not None:
        yield Processor(node.filter_name, above)
        above = (node.filter_name,)
    yield PhysicalSink(node.sink_name, above, f"topic: {topic}")
    yield Source(node.name, f"[{topic}]")


@_parts.register
def _(node: Sink) -> Iterator[Part]:
    topic = f"topic: {node.topic}" if isinstance(node.topic, str) else "extractor class: computed"
    yield PhysicalSink(node.name, _above(node), topic)


@_parts.register
def _(node: StreamStreamJoin) -> Iterator[Part]:
    left, right = _above(node)
    unmatched = () if node.unmatched_store is None else (node.unmatched_store.name,)
    yield Processor(node.windowed_names[0], (left,), (node.left_store.name,))
    yield Processor(node.windowed_names[1], (right,), (node.right_store.name,))
    this, other = node.join_names
    yield Processor(this, (node.windowed_names[0],), (node.right_store.name, *unmatched))
    yield Processor(other, (node.windowed_names[1],), (node.left_store.name, *unmatched))
    yield Processor(node.name, (this, other))


@_parts.register
def _(node: StreamTableJoin) -> Iterator[Part]:
    yield Processor(node.name, _above(node)[:1], lookup_stores(node.parents[1]))


@_parts.register
def _(node: StreamGlobalTableJoin) -> Iterator[Part]:
    yield Processor(node.name, _above(node)[:1])


@_parts.register
def _(node: TableTableJoin) -> Iterator[Part]:
    left, right = node.parents
    this, other = node.join_names
    yield Processor(this, (left.name,), lookup_stores(right))
    yield Processor(other, (right.name,), lookup_stores(left))
    yield Processor(node.name, (this, other), () if node.store is None else (node.store.name,))


@_parts.register
def _(node: Cogroup) -> Iterator[Part]:
    for name, parent in zip(node.aggregate_names, node.parents, strict=True):
        yield Processor(name, (parent.name,), (node.store.name,))
    yield Processor(node.name, node.aggregate_names)


@_parts.register
def _(node: ForeignKeyJoin) -> Iterator[Part]:
    left, right = node.parents
    names, state = node.names, (node.subscription_store.name,)
    yield Processor(names.registration, (left.name,))
    yield PhysicalSink(
        names.registration_sink, (names.registration,), f"topic: {names.registration_topic}"
    )
    yield Source(names.registration_source, f"[{names.registration_topic}]")
    yield Processor(names.subscription_receive, (names.registration_source,), state)
    yield Processor(names.subscription_join, (names.subscription_receive,), lookup_stores(right))
    yield Processor(names.foreign_table_join, (right.name,), state)
    answering = (names.subscription_join, names.foreign_table_join)
    yield PhysicalSink(names.response_sink, answering, f"topic: {names.response_topic}")
    yield Source(names.response_source, f"[{names.response_topic}]")
    yield Processor(names.resolver, (names.response_source,), lookup_stores(left))
    yield Processor(node.name, (names.resolver,), (node.store.name,))


def groups_of(parts: Iterable[Part]) -> tuple[tuple[Part, ...], ...]:
    """Return the sub-topologies: parts connected by links or by stores, numbered by their first part."""
    parts = tuple(parts)
    group = {part.name: index for index, part in enumerate(parts)}
    by_store: dict[str, str] = {}
    for part in parts:
        linked = [] if isinstance(part, Source) else list(part.parents)
        for store in part.stores if isinstance(part, Processor) else ():
            linked.append(by_store.setdefault(store, part.name))
        joined = {group[name] for name in (*linked, part.name)}
        for name, number in group.items():
            if number in joined:
                group[name] = min(joined)
    numbers = dict.fromkeys(group[part.name] for part in parts)
    return tuple(tuple(part for part in parts if group[part.name] == number) for number in numbers)

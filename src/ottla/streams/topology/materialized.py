"""Pure: which tables Kafka Streams keeps in a store: those that are named, or that somebody looks into."""

from __future__ import annotations

from collections.abc import Iterable

from ottla.streams.topology.aggregations import (
    Aggregate,
    Cogroup,
    Suppress,
    TableAggregate,
    TableGroup,
)
from ottla.streams.topology.joins import ForeignKeyJoin, StreamTableJoin, TableTableJoin
from ottla.streams.topology.node import Node
from ottla.streams.topology.sources import GlobalTableSource, TableSource
from ottla.streams.topology.stateless import TableFilter, TableMapValues, ToTable


def materialized(nodes: Iterable[Node]) -> frozenset[Node]:
    """Return the table sources, streams read as tables and foreign-key joins that have a store."""
    kept: set[Node] = set()
    for node in nodes:
        if (
            isinstance(node, TableSource | ToTable | ForeignKeyJoin) and node.store.queryable
        ) or isinstance(node, GlobalTableSource):
            kept.add(node)
        for parent in _looked_into(node):
            kept.update(_sources(parent))
    return frozenset(kept)


def _looked_into(node: Node) -> tuple[Node, ...]:
    if isinstance(node, StreamTableJoin):
        return node.parents[1:]
    looking = TableTableJoin | ForeignKeyJoin | TableGroup | Suppress
    return node.parents if isinstance(node, looking) else ()


def _sources(table: Node) -> Iterable[Node]:
    """The sources behind a table that must have a store so that its rows can be looked up."""
    if isinstance(table, TableSource | ToTable | ForeignKeyJoin):
        yield table
    elif isinstance(table, TableFilter | TableMapValues | Suppress | TableTableJoin):
        if not isinstance(table, Suppress) and table.store is not None:
            return
        for parent in table.parents:
            yield from _sources(parent)


_STORED = (
    TableSource,
    GlobalTableSource,
    ToTable,
    Aggregate,
    Cogroup,
    TableAggregate,
    ForeignKeyJoin,
)


def lookup_stores(table: Node) -> tuple[str, ...]:
    """Return the names of the stores in which the rows of a table are looked up."""
    if isinstance(table, TableFilter | TableMapValues | TableTableJoin):
        if table.store is not None:
            return (table.store.name,)
        return tuple(name for parent in table.parents for name in lookup_stores(parent))
    if isinstance(table, Suppress):
        return (*lookup_stores(table.parents[0]), table.store.name)
    if isinstance(table, _STORED):
        return (table.store.name,)
    return ()

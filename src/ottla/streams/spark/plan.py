"""Pure: which streaming queries a topology becomes, in which order, and which internal topics they meet in.

Each sub-topology is one query: what happens between two topics needs the same key, so that Spark's state for a key
holds all that its operators keep (docs/adr/0010).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ottla.streams.errors import TopologyError
from ottla.streams.topology.aggregations import Suppress
from ottla.streams.topology.joins import ForeignKeyJoin, StreamGlobalTableJoin
from ottla.streams.topology.node import Node
from ottla.streams.topology.processing import DeadLetters, Repartition, Sink
from ottla.streams.topology.sources import GlobalTableSource, StreamSource, TableSource
from ottla.streams.topology.stateless import (
    Branch,
    Filter,
    FlatMap,
    FlatMapValues,
    Foreach,
    Map,
    MapValues,
    Merge,
    Peek,
    Print,
    SelectKey,
    Split,
    ToStream,
)
from ottla.streams.topology.stores import Store
from ottla.streams.topology.topology import Topology

_STATELESS = (
    StreamSource, Filter, Map, MapValues, FlatMap, FlatMapValues, SelectKey, Split, Branch, Merge, Peek,
    Foreach, Print, Repartition, Sink, ToStream,
)  # fmt: skip
_CHANGELOGGED = ("key-value", "window", "session")


@dataclass(frozen=True)
class Query:
    """One streaming query: the operators of one sub-topology, and the topics that they read."""

    name: str
    nodes: tuple[Node, ...]
    topics: tuple[str, ...]
    pattern: str | None
    offset_reset: str
    is_stateful: bool

    @property
    def stores(self) -> tuple[Store, ...]:
        """The state that the query keeps."""
        found = {store.name: store for node in self.nodes for store in node.stores}
        return tuple(found.values())


@dataclass(frozen=True, eq=False)
class Plan:
    """The queries of an application, each before those that read what it writes."""

    topology: Topology
    application_id: str

    @cached_property
    def queries(self) -> tuple[Query, ...]:
        """The queries in topological order."""
        made = [self._query(each.index, each.nodes) for each in self.topology.sub_topologies]
        return tuple(self._ordered([query for query in made if query is not None]))

    @property
    def repartitions(self) -> tuple[Repartition, ...]:
        """The internal topics through which queries hand records on."""
        return self.topology.repartitions

    def changelog(self, store: Store) -> str | None:
        """The compacted topic that a store is written to; None if its source topic is that already."""
        for node in self.topology.nodes:
            if isinstance(node, TableSource | GlobalTableSource) and node.store == store:
                return None
        return store.changelog(self.application_id) if store.kind in _CHANGELOGGED else None

    def table_topic(self, store: Store) -> str | None:
        """The topic whose last records are the contents of a store."""
        for node in self.topology.nodes:
            if isinstance(node, TableSource | GlobalTableSource) and node.store == store:
                return node.topic
        return self.changelog(store)

    @property
    def dead_letters(self) -> str | None:
        """The topic of records that could not be handled; None if no operator sends any."""
        sends = any(node.on_error == "dead-letter" for node in self.topology.nodes)
        return f"{self.application_id}{DeadLetters.suffix}" if sends else None

    def readers(self, query: Query, topic: str) -> Iterator[Node]:
        """The nodes through which a query reads a topic; of an internal one, that is the node which writes it."""
        for node in query.nodes:
            if isinstance(node, StreamSource):
                found = topic in node.topics or node.matches(topic)
            else:
                found = isinstance(node, TableSource) and node.topic == topic
            if found:
                yield node
        for node in read_repartitions(query.nodes):
            if node.topic_name(self.application_id) == topic:
                yield node

    def _query(self, index: int, nodes: tuple[Node, ...]) -> Query | None:
        for node in nodes:
            _refuse_unsupported(node)
        sources = [node for node in nodes if isinstance(node, StreamSource | TableSource)]
        internal = [each.topic_name(self.application_id) for each in read_repartitions(nodes)]
        patterns = [n.pattern for n in sources if isinstance(n, StreamSource) and n.pattern]
        named = [name for node in sources for name in _topics(node)]
        topics = tuple(dict.fromkeys((*named, *internal)))
        if not topics and not patterns:
            return None  # a global table: workers read it by themselves
        if patterns and (topics or len(patterns) > 1):
            raise TopologyError(
                f"{sources[0].name}: a source of a pattern ({patterns[0]}) shares a sub-topology with other sources, "
                "and Spark subscribes to names or to one pattern: name the topics, or put a repartition() between"
            )
        resets = {node.offset_reset for node in sources}
        if len(resets) > 1:
            raise TopologyError(
                f"{sources[0].name}: sources of one sub-topology begin at earliest and at latest, and one query "
                "has one beginning: give them the same offset_reset, or put a repartition() between"
            )
        return Query(
            name=f"{self.application_id}-{index}",
            nodes=nodes,
            topics=topics,
            pattern=patterns[0] if patterns else None,
            offset_reset=resets.pop() if resets else "earliest",
            is_stateful=any(is_stateful(node) for node in nodes),
        )

    def _ordered(self, queries: list[Query]) -> Iterator[Query]:
        waiting = list(queries)
        while waiting:
            ready = [query for query in waiting if not self._waits(query, waiting)]
            # A topology that reads a topic of its own writing has no order: the first made begins.
            following = ready[0] if ready else waiting[0]
            waiting.remove(following)
            yield following

    def _waits(self, query: Query, for_queries: list[Query]) -> bool:
        """True if a query reads what one of the others writes."""
        others = (self.written(other) for other in for_queries if other is not query)
        return any(written.intersection(query.topics) for written in others)

    def written(self, query: Query) -> set[str]:
        """The topics of fixed names that other queries may read from this one."""
        found = {n.topic for n in query.nodes if isinstance(n, Sink) and isinstance(n.topic, str)}
        names = (
            n.topic_name(self.application_id) for n in query.nodes if isinstance(n, Repartition)
        )
        return found.union(names)


def read_repartitions(nodes: tuple[Node, ...]) -> tuple[Repartition, ...]:
    """The internal topics that the nodes of a query read, by the nodes that write them."""
    found = [parent for node in nodes for parent in node.parents if isinstance(parent, Repartition)]
    return tuple(dict.fromkeys(found))


def is_stateful(node: Node) -> bool:
    """True if an operator keeps state for each key, or reads another's."""
    return not isinstance(node, _STATELESS)


def _topics(node: StreamSource | TableSource) -> tuple[str, ...]:
    return node.topics if isinstance(node, StreamSource) else (node.topic,)


def _refuse_unsupported(node: Node) -> None:
    if isinstance(node, ForeignKeyJoin):
        raise TopologyError(
            f"{node.name}: foreign-key joins do not run on Spark yet: give the left table the foreign key with "
            "to_stream().select_key(...).to_table(), and join the tables by it"
        )
    if isinstance(node, StreamGlobalTableJoin):
        raise TopologyError(
            f"{node.name}: joins with global tables do not run on Spark yet: read the topic with table(), and "
            "give the stream its key with select_key()"
        )
    if isinstance(node, Suppress) and node.max_records is not None:
        raise TopologyError(
            f"{node.name}: max_records counts over all keys, and Spark keeps state by key: leave it out"
        )
    if isinstance(node, Sink) and node.partitioner is not None:
        raise TopologyError(
            f"{node.name}: to(partitioner=...) does not run on Spark yet: leave it out, and records go by the hash of "
            "their keys, as Kafka's clients do it"
        )

"""Pure: a built topology: its nodes, stores and sub-topologies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ottla.streams.topology.describe import described
from ottla.streams.topology.joins import ForeignKeyJoin, StreamGlobalTableJoin
from ottla.streams.topology.node import Node
from ottla.streams.topology.processing import Repartition, Sink
from ottla.streams.topology.sources import GlobalTableSource, StreamSource, TableSource
from ottla.streams.topology.stores import Store
from ottla.streams.topology.svg import drawn


@dataclass(frozen=True)
class SubTopology:
    """Nodes that work on the same partitions: connected without an internal topic between them.

    A `Repartition` belongs to the sub-topology above it (which writes its topic); the one below reads it.
    """

    index: int
    nodes: tuple[Node, ...]


@dataclass(frozen=True, eq=False)
class Topology:
    """What `StreamsBuilder.build()` makes: nodes in the order in which they were made, parents before children."""

    nodes: tuple[Node, ...]

    def describe(self) -> str:
        """The topology in the text of Kafka Streams, with its names, stores and sub-topologies."""
        return described(self.nodes)

    def svg(self) -> str:
        """A picture of topics, operators, stores and sub-topologies, as SVG."""
        return drawn(self.nodes)

    @cached_property
    def by_name(self) -> dict[str, Node]:
        """Every node by its name."""
        return {node.name: node for node in self.nodes}

    @cached_property
    def children(self) -> dict[Node, tuple[Node, ...]]:
        """The nodes that read from each node, in the order in which they were made."""
        found: dict[Node, list[Node]] = {node: [] for node in self.nodes}
        for node in self.nodes:
            for parent in dict.fromkeys(node.parents):
                found[parent].append(node)
        return {node: tuple(children) for node, children in found.items()}

    @cached_property
    def stores(self) -> dict[str, Store]:
        """Every state store by its name."""
        return {store.name: store for node in self.nodes for store in node.stores}

    @property
    def sources(self) -> tuple[StreamSource | TableSource | GlobalTableSource, ...]:
        """The nodes that read topics of the user's."""
        kinds = (StreamSource, TableSource, GlobalTableSource)
        return tuple(node for node in self.nodes if isinstance(node, kinds))

    @property
    def sinks(self) -> tuple[Sink, ...]:
        """The nodes that write topics of the user's."""
        return tuple(node for node in self.nodes if isinstance(node, Sink))

    @property
    def repartitions(self) -> tuple[Repartition, ...]:
        """The internal topics that are written and read again."""
        return tuple(node for node in self.nodes if isinstance(node, Repartition))

    @cached_property
    def sub_topologies(self) -> tuple[SubTopology, ...]:
        """The parts between topics, numbered in the order of their first nodes."""
        group: dict[Node, int] = {}
        owners: dict[str, Node] = {}
        for node in self.nodes:
            joined = {group[parent] for parent in _connected_parents(node)}
            joined |= {group[owners[store.name]] for store in node.stores if store.name in owners}
            owners.update((store.name, node) for store in node.stores)
            own = min(joined, default=len(self.nodes) + len(group))
            for other, number in group.items():
                if number in joined:
                    group[other] = own
            group[node] = own
        numbered = list(dict.fromkeys(group.values()))
        return tuple(
            SubTopology(index, tuple(node for node in self.nodes if group[node] == number))
            for index, number in enumerate(numbered)
        )


def _connected_parents(node: Node) -> Iterator[Node]:
    """The parents whose partitions a node shares: a foreign-key join answers on its left side's."""
    left_alone = isinstance(node, ForeignKeyJoin | StreamGlobalTableJoin)
    for parent in node.parents[:1] if left_alone else node.parents:
        if not isinstance(parent, Repartition):
            yield parent

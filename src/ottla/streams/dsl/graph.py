"""Pure: the graph while it is built: names as Kafka Streams gives them, nodes, stores."""

from __future__ import annotations

from ottla.streams.errors import TopologyError
from ottla.streams.topology.node import Node, NodeT
from ottla.streams.topology.processing import Repartition
from ottla.streams.topology.stores import Store


class Graph:
    """Nodes in the order in which they were made, and the counter behind generated names."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._names: set[str] = set()
        self._nodes: set[Node] = set()
        self._store_owners: dict[str, str] = {}
        self._shared: dict[str, Store] = {}
        self.repartitions: dict[str, Repartition] = {}
        """Internal topics by name: a stream that is used twice is written once."""
        self._count = 0

    def new_name(self, prefix: str) -> str:
        """Return the next name of this prefix: `KSTREAM-FILTER-0000000001`."""
        name = f"{prefix}{self._count:010d}"
        self._count += 1
        return name

    def new_store_name(self, prefix: str) -> str:
        """Return the next name of a store: `KSTREAM-AGGREGATE-STATE-STORE-0000000001`."""
        return self.new_name(f"{prefix}STATE-STORE-")

    def name(self, given: str | None, prefix: str) -> str:
        """Return the name that the user gave, or the next one; a given name counts too, as in Kafka Streams."""
        generated = self.new_name(prefix)
        return generated if given is None else given

    def suffixed(self, given: str | None, suffix: str, prefix: str) -> str:
        """Return the user's name with a suffix for one of an operator's parts, or the next one."""
        generated = self.new_name(prefix)
        return generated if given is None else f"{given}{suffix}"

    def add(self, node: NodeT) -> NodeT:
        """Add a node; raise TopologyError if its name is taken, or if it reads from another graph."""
        if node.name in self._names:
            raise TopologyError(
                f"two operators are named {node.name}: give one of them another name (name=...)"
            )
        if any(parent not in self._nodes for parent in node.parents):
            raise TopologyError(
                f"{node.name}: its inputs come from two builders: make them all with one StreamsBuilder"
            )
        self._names.add(node.name)
        self._nodes.add(node)
        self.nodes.append(node)
        return node

    def own_store(self, store: Store, operator: str) -> Store:
        """Register a store that belongs to one operator alone."""
        owner = self._store_owners.setdefault(store.name, operator)
        if owner != operator:
            raise TopologyError(
                f"{operator}: the store {store.name} is already that of {owner}; "
                "name another one (store=...)"
            )
        return store

    def share_store(self, store: Store) -> None:
        """Register a store that processors use by name."""
        self.own_store(store, f"add_store({store.name!r})")
        self._shared[store.name] = store

    def shared_store(self, name: str, operator: str) -> Store:
        """Return a store that add_store() made."""
        if name not in self._shared:
            raise TopologyError(
                f"{operator}: there is no store {name!r}: add it first, with builder.add_store({name!r}, ...)"
            )
        return self._shared[name]

"""Pure: StreamsBuilder: where a topology begins and ends."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from ottla.streams.dsl.flow import check_topics, error_policy
from ottla.streams.dsl.functions import check_arguments
from ottla.streams.dsl.graph import Graph
from ottla.streams.dsl.kstream import KStream
from ottla.streams.dsl.ktable import GlobalKTable, KTable
from ottla.streams.errors import TopologyError
from ottla.streams.serdes.by_name import serde_of
from ottla.streams.topology.joins import (
    StreamGlobalTableJoin,
    StreamStreamJoin,
    StreamTableJoin,
)
from ottla.streams.topology.node import Node, OnError
from ottla.streams.topology.sources import (
    GlobalTableSource,
    StreamSource,
    TableSource,
    TimestampExtractor,
)
from ottla.streams.topology.stores import Store
from ottla.streams.topology.topology import Topology


class StreamsBuilder:
    """Makes streams and tables of topics, and the topology of what was done with them.

    `key` and `value` are serdes: a name (bytes, string, int, long, double, boolean, uuid, json) or an object.
    `on_error` says what becomes of records that cannot be read, and of those for which operators further down
    raise, unless these say otherwise: "fail", "skip" or "dead-letter".
    """

    def __init__(self) -> None:
        self._graph = Graph()
        self._streams: list[tuple[object, StreamSource]] = []
        self._readers: dict[str, Node] = {}

    def stream(
        self,
        topics: str | Sequence[str] | re.Pattern[str],
        *,
        key: object = "bytes",
        value: object = "bytes",
        on_error: OnError = "fail",
        timestamp: TimestampExtractor | None = None,
        offset_reset: Literal["earliest", "latest"] = "earliest",
        name: str | None = None,
    ) -> KStream:
        """A stream of one topic, of several, or of all whose names match a compiled pattern.

        `timestamp` is called with (key, value, the record's timestamp) and returns milliseconds.
        """
        operator = self._graph.name(name, "KSTREAM-SOURCE-")
        pattern = topics.pattern if isinstance(topics, re.Pattern) else None
        names: tuple[str, ...] = ()
        if not isinstance(topics, re.Pattern):
            names = (topics,) if isinstance(topics, str) else tuple(topics)
            check_topics(names, operator)
        key_serde, value_serde = serde_of(key, operator), serde_of(value, operator)
        settings = (names, pattern, key_serde, value_serde, on_error, timestamp, offset_reset)
        source = StreamSource(
            name=operator,
            parents=(),
            key_serde=key_serde,
            value_serde=value_serde,
            key_type=key_serde.type,
            value_type=value_serde.type,
            on_error=error_policy(on_error, operator) or "fail",
            topics=names,
            pattern=pattern,
            offset_reset=_checked_reset(offset_reset, operator),
            timestamp_extractor=_checked_extractor(timestamp, operator),
        )
        known = next((node for given, node in self._streams if given == settings), None)
        if known is not None:  # read once, as Kafka Streams does
            return KStream(self._graph, known)
        for topic in names:
            self._claim(topic, source)
        self._streams.append((settings, self._graph.add(source)))
        return KStream(self._graph, source)

    def table(
        self,
        topic: str,
        *,
        key: object = "bytes",
        value: object = "bytes",
        store: str | None = None,
        on_error: OnError = "fail",
        timestamp: TimestampExtractor | None = None,
        offset_reset: Literal["earliest", "latest"] = "earliest",
        name: str | None = None,
    ) -> KTable:
        """A table of a compacted topic; `store` names its store, which can be queried then."""
        graph = self._graph
        store_name = graph.new_store_name(f"{topic}-") if store is None else store
        source_name = graph.suffixed(name, "-source", "KSTREAM-SOURCE-")
        operator = graph.suffixed(name, "-table-source", "KTABLE-SOURCE-") if name is None else name
        check_topics((topic,), operator)
        key_serde, value_serde = serde_of(key, operator), serde_of(value, operator)
        kept = Store(store_name, "key-value", key_serde, value_serde, queryable=store is not None)
        source = TableSource(
            name=operator,
            parents=(),
            key_serde=key_serde,
            value_serde=value_serde,
            key_type=key_serde.type,
            value_type=value_serde.type,
            on_error=error_policy(on_error, operator) or "fail",
            topic=topic,
            source_name=source_name,
            store=graph.own_store(kept, operator),
            offset_reset=_checked_reset(offset_reset, operator),
            timestamp_extractor=_checked_extractor(timestamp, operator),
        )
        self._claim(topic, source)
        return KTable(graph, graph.add(source))

    def global_table(
        self,
        topic: str,
        *,
        key: object = "bytes",
        value: object = "bytes",
        store: str | None = None,
        on_error: OnError = "fail",
        name: str | None = None,
    ) -> GlobalKTable:
        """A table that each worker holds whole, to join streams with by any key."""
        graph = self._graph
        store_name = graph.new_store_name(f"{topic}-") if store is None else store
        source_name = graph.suffixed(name, "-source", "KSTREAM-SOURCE-")
        operator = graph.name(name, "KTABLE-SOURCE-")
        check_topics((topic,), operator)
        key_serde, value_serde = serde_of(key, operator), serde_of(value, operator)
        kept = Store(store_name, "key-value", key_serde, value_serde, queryable=store is not None)
        source = GlobalTableSource(
            name=operator,
            parents=(),
            key_serde=key_serde,
            value_serde=value_serde,
            key_type=key_serde.type,
            value_type=value_serde.type,
            on_error=error_policy(on_error, operator) or "fail",
            topic=topic,
            source_name=source_name,
            store=graph.own_store(kept, operator),
        )
        self._claim(topic, source)
        return GlobalKTable(graph, graph.add(source))

    def add_store(self, name: str, *, key: object = "bytes", value: object = "json") -> None:
        """Add a store for processors, which name it in `process(..., stores=[name])`."""
        where = f"add_store({name!r})"
        store = Store(
            name, "key-value", serde_of(key, where), serde_of(value, where), queryable=True
        )
        self._graph.share_store(store)

    def build(self) -> Topology:
        """Return the topology of everything done so far."""
        if not self._graph.nodes:
            raise TopologyError(
                "the topology is empty: begin with builder.stream(topic) or builder.table(topic)"
            )
        topology = Topology(tuple(self._graph.nodes))
        for node in topology.repartitions:
            # The joins that want null keys are made after the topic above them.
            object.__setattr__(node, "drops_null_keys", not _wants_null_keys(topology, node))
        return topology

    def _claim(self, topic: str, source: Node) -> None:
        other = self._readers.setdefault(topic, source)
        if other is not source:
            raise TopologyError(
                f"{source.name}: the topic {topic} is read by {other.name} already, in another way: "
                "read it once, and begin both parts there (to_table(), to_stream())"
            )


def _wants_null_keys(topology: Topology, node: Node) -> bool:
    """True if a left or outer join of a stream is below: records with null keys are unmatched there (KIP-962)."""
    return any(
        (
            isinstance(child, StreamStreamJoin | StreamTableJoin | StreamGlobalTableJoin)
            and child.kind != "inner"
        )
        or _wants_null_keys(topology, child)
        for child in topology.children[node]
    )


def _checked_reset(
    given: Literal["earliest", "latest"], operator: str
) -> Literal["earliest", "latest"]:
    if given not in ("earliest", "latest"):
        raise TopologyError(
            f"{operator}: offset_reset is {given!r}, but must be earliest or latest"
        )
    return given


def _checked_extractor(
    given: TimestampExtractor | None, operator: str
) -> TimestampExtractor | None:
    if given is not None:
        check_arguments(given, "key, value, timestamp", operator)
    return given

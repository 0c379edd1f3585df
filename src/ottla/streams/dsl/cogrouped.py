"""Pure: CogroupedKStream: one aggregate of several streams."""

from __future__ import annotations

from typing import Any

from ottla.streams.dsl.aggregates import aggregate_store, grouped_flow, windowed_key_serde
from ottla.streams.dsl.flow import Flow, declared_serde, result_type, same_keys
from ottla.streams.dsl.functions import check_arguments
from ottla.streams.dsl.grouped import KGroupedStream
from ottla.streams.dsl.ktable import KTable
from ottla.streams.errors import TopologyError
from ottla.streams.serdes.windowed import windowed_type
from ottla.streams.topology.aggregations import Cogroup
from ottla.streams.topology.node import OnError
from ottla.streams.types import ANY
from ottla.streams.windows import SessionWindows, Windows

_PREFIX = "COGROUPKSTREAM-AGGREGATE-"


class CogroupedKStream:
    """Grouped streams with their aggregators; keys must be alike."""

    def __init__(
        self,
        parts: tuple[tuple[KGroupedStream, Any], ...] = (),
        windows: Windows | None = None,
    ) -> None:
        self._parts = parts
        self._windows = windows

    def cogroup(self, grouped: KGroupedStream, aggregator: Any) -> CogroupedKStream:
        """Add a grouped stream with its aggregator(key, value, aggregate)."""
        check_arguments(aggregator, "key, value, aggregate", "cogroup")
        return CogroupedKStream((*self._parts, (grouped, aggregator)), self._windows)

    def windowed_by(self, windows: Windows) -> CogroupedKStream:
        """Aggregate by window besides."""
        return CogroupedKStream(self._parts, windows)

    def aggregate(
        self,
        initializer: Any,
        merger: Any = None,
        *,
        returns: object = None,
        store: str | None = None,
        key: object = None,
        value: object = None,
        retention_ms: int | None = None,
        name: str | None = None,
        on_error: OnError | None = None,
    ) -> KTable:
        """Fold the records of all streams; sessions need a merger(key, left, right)."""
        graph = self._parts[0][0]._stream.graph
        store_name = graph.new_store_name(_PREFIX) if store is None else store
        flows = [
            grouped_flow(grouped._stream, grouped._grouping, store_name)
            for grouped, _ in self._parts
        ]
        names = tuple(
            graph.suffixed(name, f"-cogroup-agg-{index}", _PREFIX) for index in range(len(flows))
        )
        operator = graph.suffixed(name, "-cogroup-merge", "COGROUPKSTREAM-MERGE-")
        self._check(flows, initializer, merger, operator)
        first = flows[0]
        kind = result_type(returns, ANY)
        value = value or declared_serde(returns)
        key = self._parts[0][0]._grouping.key if key is None else key
        kept = aggregate_store(
            first, store_name, self._windows, key, value, kind, store is not None, retention_ms, operator
        )  # fmt: skip
        key_serde, key_type = kept.key_serde, first.node.key_type
        if self._windows is not None and key_serde is not None:
            key_serde = windowed_key_serde(self._windows, key_serde)
            key_type = windowed_type(key_type)
        node = first._add(
            Cogroup, operator, parents=tuple(flow.node for flow in flows), on_error=on_error,
            aggregators=tuple(aggregator for _, aggregator in self._parts), aggregate_names=names,
            store=graph.own_store(kept, operator), initializer=initializer, merger=merger,
            windows=self._windows, key_serde=key_serde, key_type=key_type,
            value_serde=kept.value_serde, value_type=kind,
        )  # fmt: skip
        return KTable(graph, node)

    def _check(self, flows: list[Flow], initializer: Any, merger: Any, operator: str) -> None:
        for other in flows[1:]:
            same_keys(flows[0], other, operator)
        if not callable(initializer):
            raise TopologyError(
                f"{operator}: aggregate takes an initializer(), not {initializer!r}"
            )
        check_arguments(initializer, "", operator)
        if isinstance(self._windows, SessionWindows):
            if merger is None:
                raise TopologyError(
                    f"{operator}: sessions are merged when a record connects them: give a merger(key, left, right)"
                )
            check_arguments(merger, "key, left, right", operator)
        elif merger is not None:
            raise TopologyError(f"{operator}: only session windows take a merger")

"""Pure: KGroupedStream: records by key, to be counted, reduced, aggregated, windowed or cogrouped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ottla.streams.dsl.aggregates import (
    Computation,
    Grouping,
    aggregate_store,
    aggregated,
    counted,
    grouped_flow,
    reduced,
    windowed_key_serde,
)
from ottla.streams.dsl.flow import Flow, declared_serde
from ottla.streams.dsl.ktable import KTable
from ottla.streams.errors import TopologyError
from ottla.streams.serdes.serde import Serde
from ottla.streams.serdes.windowed import windowed_type
from ottla.streams.topology.aggregations import Aggregate, EmitStrategy
from ottla.streams.topology.node import OnError
from ottla.streams.windows import SessionWindows, SlidingWindows, TimeWindows, Windows

if TYPE_CHECKING:
    from ottla.streams.dsl.cogrouped import CogroupedKStream


class _Aggregating:
    """count, reduce and aggregate; `windows` is None for those that run for ever.

    Their options: `store` names the store, which can be queried then; `key` and `value` are its serdes;
    `retention_ms` keeps windows for longer; `name` and `on_error` as everywhere.
    """

    def __init__(
        self, stream: Flow, grouping: Grouping, windows: Windows | None, emit: EmitStrategy = "on-window-update"
    ) -> None:  # fmt: skip
        self._stream = stream
        self._grouping = grouping
        self._windows = windows
        self._emit = emit

    def count(self, **options: Any) -> KTable:
        """Count the records of each key: a table of whole numbers."""
        return self._table("KSTREAM-AGGREGATE-", lambda operator: counted(), options)

    def reduce(self, reducer: Any, **options: Any) -> KTable:
        """Combine the values of each key by reducer(old, new)."""
        return self._table(
            "KSTREAM-REDUCE-", lambda operator: reduced(reducer, self._stream, operator), options
        )

    def aggregate(
        self,
        initializer: Any,
        aggregator: Any = None,
        merger: Any = None,
        *,
        returns: object = None,
        **options: Any,
    ) -> KTable:
        """Fold the records of each key by aggregator(key, value, aggregate), beginning with initializer().

        Or give one expression: `aggregate(f.struct(total=f.sum(f.value.amount), orders=f.count()))`. Sessions
        need a merger(key, left, right) besides functions.
        """
        options["value"] = options.get("value") or declared_serde(returns)
        sessions = isinstance(self._windows, SessionWindows)

        def computation(operator: str) -> Computation:
            if sessions and aggregator is not None and merger is None:
                raise TopologyError(
                    f"{operator}: sessions are merged when a record connects them: "
                    "give a merger(key, left, right) as the third argument"
                )
            if merger is not None and not sessions:
                raise TopologyError(f"{operator}: only session windows take a merger")
            return aggregated(initializer, aggregator, merger, self._stream, operator, returns)

        return self._table("KSTREAM-AGGREGATE-", computation, options)

    def _table(self, prefix: str, computation: Any, options: dict[str, Any]) -> KTable:
        return _aggregate(
            self._stream, self._grouping, self._windows, self._emit, prefix, computation, **options
        )


def _aggregate(
    stream: Flow,
    grouping: Grouping,
    windows: Windows | None,
    emit: EmitStrategy,
    prefix: str,
    computation: Any,
    *,
    store: str | None = None,
    key: object = None,
    value: object = None,
    retention_ms: int | None = None,
    name: str | None = None,
    on_error: OnError | None = None,
) -> KTable:
    graph = stream.graph
    store_name = graph.new_store_name(prefix) if store is None else store
    operator = graph.name(name, prefix)
    computed = computation(operator)
    flow = grouped_flow(stream, grouping, store_name)
    if value is None and computed.kind == "reduce":
        value = flow.node.value_serde
    if key is None:
        key = grouping.key
    kept = aggregate_store(
        flow, store_name, windows, key, value, computed.type, store is not None, retention_ms, operator
    )  # fmt: skip
    key_serde, key_type = kept.key_serde, flow.node.key_type
    if windows is not None and key_serde is not None:
        key_serde, key_type = windowed_key_serde(windows, key_serde), windowed_type(key_type)
    node = flow._add(
        Aggregate, operator, on_error=on_error, kind=computed.kind, store=graph.own_store(kept, operator),
        initializer=computed.initializer, aggregator=computed.aggregator, merger=computed.merger,
        windows=windows, emit=emit, key_serde=key_serde, key_type=key_type,
        value_serde=kept.value_serde, value_type=computed.type,
    )  # fmt: skip
    return KTable(graph, node)


class KGroupedStream(_Aggregating):
    """Records grouped by key."""

    def __init__(
        self, stream: Flow, serdes: tuple[Serde | None, Serde | None], name: str | None
    ) -> None:
        super().__init__(stream, Grouping(*serdes, name), None)

    def windowed_by(self, windows: Windows) -> WindowedKStream:
        """Aggregate by window besides: TimeWindows, SlidingWindows or SessionWindows."""
        if not isinstance(windows, TimeWindows | SlidingWindows | SessionWindows):
            raise TopologyError(
                f"windowed_by takes TimeWindows, SlidingWindows or SessionWindows, not {windows!r}"
            )
        return WindowedKStream(self._stream, self._grouping, windows)

    def cogroup(self, aggregator: Any) -> CogroupedKStream:
        """Begin an aggregate of several streams, each with an aggregator(key, value, aggregate) of its own."""
        from ottla.streams.dsl.cogrouped import CogroupedKStream

        return CogroupedKStream().cogroup(self, aggregator)


class WindowedKStream(_Aggregating):
    """Records grouped by key and window."""

    def emit_strategy(self, emit: EmitStrategy) -> WindowedKStream:
        """`on-window-close` hands on each window's last result alone, `on-window-update` every result."""
        if emit not in ("on-window-update", "on-window-close"):
            raise TopologyError(
                f"emit_strategy is {emit!r}, but must be on-window-update or on-window-close"
            )
        return WindowedKStream(self._stream, self._grouping, self._windows, emit)

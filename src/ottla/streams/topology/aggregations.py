"""Pure: nodes that keep one aggregate for each key, or for each key and window.

All of them: records with a null key are dropped, and for streams those with a null value too (counted as
dropped); but tumbling, hopping and session windows aggregate null values, as in Kafka Streams. The result of
a record is handed on at once (except where a node says otherwise), as a change from the aggregate before to
the one after; its timestamp is the highest of those that went into the aggregate, but for sessions, whose
results carry the session's end. An aggregate that becomes None is deleted from the store. The order that
counts is that of offsets within a partition; what arrives late by timestamp, but not for a closed window, is
aggregated like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from ottla.streams.topology.functions import Function
from ottla.streams.topology.node import Flow, Node
from ottla.streams.topology.stores import Store
from ottla.streams.windows import SessionWindows, SlidingWindows, TimeWindows

AggregateKind = Literal["count", "reduce", "aggregate"]
EmitStrategy = Literal["on-window-update", "on-window-close"]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Aggregate(Node):
    """count, reduce or aggregate of a stream's records by key, by window if `windows` is given.

    - count: `initializer` and `aggregator` are None; the result is a whole number.
    - reduce: aggregator(old, new) from the second record of a key on; the first is the aggregate.
    - aggregate: aggregator(key, value, aggregate), beginning with initializer(); or an expression with
      `Aggregation`s (`initializer` is None then), whose other parts are evaluated with them:
      `f.struct(total=f.sum(f.value.amount), orders=f.count())`.

    Windows: the key of what comes out is `Windowed(key, start_ms, end_ms)`. Stream time is the highest
    timestamp that this node has seen (in one partition in Kafka; in one query under Spark). A window that is
    closed (see `ottla.streams.windows`) takes nothing more: late records are dropped. With
    `emit="on-window-close"` a result is handed on once, when its window has closed: by window end, then by
    start and key; its old value is null.

    Sessions: a record merges all sessions that it touches: the merger (key, left, right) joins their aggregates
    in ascending order, beginning with initializer(), before the aggregator adds the record; each session that
    was merged is deleted first: a change to null under its window. `merger` is None for count and reduce and
    for expressions, where it follows from the kind.
    """

    flow: ClassVar[Flow] = "table"
    kind: AggregateKind
    store: Store
    initializer: Callable[[], Any] | None = None
    aggregator: Function | None = None
    merger: Callable[[Any, Any, Any], Any] | None = None
    windows: TimeWindows | SlidingWindows | SessionWindows | None = None
    emit: EmitStrategy = "on-window-update"

    @property
    def stores(self) -> tuple[Store, ...]:
        return (self.store,)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Cogroup(Node):
    """One aggregate of several streams: each parent has an aggregator (key, value, aggregate) of its own.

    As `Aggregate` otherwise. The store is one; records of the parents are handled in any order among them.
    """

    flow: ClassVar[Flow] = "table"
    aggregators: tuple[Function, ...]
    """One for each parent, in their order."""
    aggregate_names: tuple[str, ...]
    """The names of the processors that aggregate: this node's own is the one that merges their results."""
    store: Store
    initializer: Callable[[], Any]
    merger: Callable[[Any, Any, Any], Any] | None = None
    windows: TimeWindows | SlidingWindows | SessionWindows | None = None

    @property
    def stores(self) -> tuple[Store, ...]:
        return (self.store,)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class TableGroup(Node):
    """Gives each change of a table the key of its group: selector(key, value) returns the pair (key, value).

    A change becomes up to two records: what is to be subtracted (the old row under its old group) and what is
    to be added (the new row under its new one). Where both groups are equal they stay one change: subtract
    first, then add. Nulls, and rows whose group key is null, have nothing to add or subtract.
    A `Repartition` always follows.
    """

    flow: ClassVar[Flow] = "table"
    changes_key: ClassVar[bool] = True
    selector: Function | tuple[Function, Function]
    """A function of (key, value) that returns a pair, or a pair of expressions."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class TableAggregate(Node):
    """count, reduce or aggregate of a regrouped table, kept right as rows change, move and vanish.

    For each record of the regrouped changes: subtractor with the old row if there is one and the group has an
    aggregate, then adder with the new row if there is one.
    - count: adds and subtracts one.
    - reduce: adder(aggregate, value), subtractor(aggregate, value); the first row of a group is its aggregate.
      A result of None deletes the group.
    - aggregate: adder(key, value, aggregate), subtractor(key, value, aggregate), from initializer().
    - an expression (`adder` alone) of `sum` and `count`: they know how to subtract.
    A row that moves between groups gives two results, the one it left first.
    """

    flow: ClassVar[Flow] = "table"
    kind: AggregateKind
    store: Store
    initializer: Callable[[], Any] | None = None
    adder: Function | None = None
    subtractor: Function | None = None

    @property
    def stores(self) -> tuple[Store, ...]:
        return (self.store,)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Suppress(Node):
    """Holds a table's changes back; of those of one key the last is handed on, with its timestamp.

    - `until_window_closes`: when stream time >= the window's end + its grace, by window end. Nothing comes
      twice. The parent must be windowed.
    - `until_time_limit`: when stream time has passed the timestamp of the key's first change held back by
      `time_limit_ms`; a change that arrives when the buffer holds `max_records` (if set) pushes out the
      oldest.
    Stream time is that of the records which this node sees. Deletions are handed on too, unless nothing of
    that key has been handed on before and the window is final anyway.
    """

    flow: ClassVar[Flow] = "table"
    kind: Literal["until-window-closes", "until-time-limit"]
    store: Store
    grace_ms: int = 0
    """`until-window-closes`: the grace of the windows above."""
    time_limit_ms: int = 0
    max_records: int | None = None

    @property
    def stores(self) -> tuple[Store, ...]:
        return (self.store,)

"""Pure: nodes that join two inputs; `parents` are the left and the right one.

Joiners are called as joiner(left, right), or joiner(key, left, right) if `with_key`; as expressions they read
`f.left`, `f.right`, `f.key`. Where one side has nothing, it is None.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from ottla.streams.topology.functions import Function
from ottla.streams.topology.node import Flow, Node
from ottla.streams.topology.stores import Store
from ottla.streams.windows import JoinWindows

JoinKind = Literal["inner", "left", "outer"]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class StreamStreamJoin(Node):
    """Records of two streams with the same key whose timestamps are close enough (`JoinWindows`).

    Each pair comes once, when its second record is handled, with the higher timestamp of the two and the
    headers of the second record. A record that meets several comes with the oldest by timestamp first.
    Records with a null key or a null value are dropped; in a left join (of the left side) and an outer join
    (of either) those with a null key and a value come at once, unmatched.

    left, outer: a record that found no partner comes alone, once its window has closed: when stream time (of
    both sides together) is above its timestamp + `after` (`before` for right ones) + grace; by timestamp, right
    ones first, by key. A record that is so late when it comes, and finds no partner, comes alone at once.
    A record can be met until the stream time of its own side is above its timestamp by before + after + grace.
    """

    kind: JoinKind
    joiner: Function
    with_key: bool = False
    windows: JoinWindows
    windowed_names: tuple[str, str]
    join_names: tuple[str, str]
    left_store: Store
    right_store: Store
    unmatched_store: Store | None = None

    @property
    def stores(self) -> tuple[Store, ...]:
        own = (self.left_store, self.right_store)
        return own if self.unmatched_store is None else (*own, self.unmatched_store)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class StreamTableJoin(Node):
    """Each record of the left stream meets the table's row of its key, as it is when the record is handled.

    Nothing comes of changes of the table. Timestamp and headers are those of the record.
    inner: records without a row, or with a null key, are dropped. left: the row is None then, also for null
    keys. Records with a null value are dropped.
    """

    kind: Literal["inner", "left"]
    joiner: Function
    with_key: bool = False


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class StreamGlobalTableJoin(Node):
    """Each record of the left stream meets the global table's row under selector(key, value).

    As `StreamTableJoin`, by the selected key: the record keeps its own. No co-partitioning is needed.
    """

    kind: Literal["inner", "left"]
    selector: Function
    joiner: Function
    with_key: bool = False


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class TableTableJoin(Node):
    """The rows of two tables with the same key, kept right as either side changes.

    A change of either side gives a change of the result, with the higher timestamp of the two rows:
    inner: where both sides have a row. left: where the left has one. outer: where either has one.
    A row that is no more is a deletion. Deletions of keys that had no result are allowed: Kafka Streams and the
    test driver send one when a row of an inner join's side is deleted while the other side has one, Spark's
    plan may send others.
    Records with null keys are dropped.
    """

    flow: ClassVar[Flow] = "table"
    kind: JoinKind
    joiner: Function
    with_key: bool = False
    join_names: tuple[str, str]
    """KTABLE-JOINTHIS-... and KTABLE-JOINOTHER-...: this node's own name is KTABLE-MERGE-..."""
    store: Store | None = None

    @property
    def stores(self) -> tuple[Store, ...]:
        return () if self.store is None else (self.store,)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ForeignKeyJoin(Node):
    """Each row of the left table meets the row of the right one under extractor(value), or (key, value).

    The result has the left table's keys. A change of a left row gives one result; a change of a right row one
    for each left row that names it, by key. inner: a row without partner, or whose foreign key is null, is
    no result (a deletion if there may have been one). left: its right side is None.
    Timestamps are the higher of the two rows; a result that a right row's change makes has that row's.
    """

    flow: ClassVar[Flow] = "table"
    kind: Literal["inner", "left"]
    extractor: Function
    extractor_with_key: bool = False
    joiner: Function
    with_key: bool = False
    names: ForeignKeyNames
    subscription_store: Store
    store: Store
    """The result: kept where the user named it (`queryable`), or where old values are asked for below."""

    @property
    def stores(self) -> tuple[Store, ...]:
        return (self.subscription_store, self.store)


@dataclass(frozen=True)
class ForeignKeyNames:
    """The processors and internal topics behind a foreign-key join, for `describe()`."""

    registration_topic: str
    response_topic: str
    registration: str
    registration_source: str
    registration_sink: str
    subscription_receive: str
    subscription_join: str
    foreign_table_join: str
    response_sink: str
    response_source: str
    resolver: str

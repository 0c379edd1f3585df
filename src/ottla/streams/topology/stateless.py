"""Pure: nodes that look at one record alone.

Those of streams see nulls: a key or value that is null is given to the function as None; an expression gives
null then (see `expressions.tree`). Timestamp and headers stay as they are, also of each record of a flat map.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ottla.streams.topology.functions import Function
from ottla.streams.topology.node import Flow, Node
from ottla.streams.topology.stores import Store


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Filter(Node):
    """Hands on records for which the predicate (key, value) is true, or not true if `negated`.

    An expression that is null is not true: it passes neither `filter` nor, as in SQL, `filter_not`.
    """

    predicate: Function
    negated: bool = False


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Map(Node):
    """(key, value) becomes the pair (key, value) that the mapper returns; an expression for each part."""

    changes_key: ClassVar[bool] = True
    mapper: Function | tuple[Function, Function]
    """A function of (key, value) that returns a pair, or a pair of expressions."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class MapValues(Node):
    """The value becomes mapper(value), or mapper(key, value) if `with_key`. Null values are mapped too."""

    mapper: Function
    with_key: bool = False


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class FlatMap(Node):
    """(key, value) becomes the pairs that the mapper (key, value) returns, in their order."""

    changes_key: ClassVar[bool] = True
    mapper: Function


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class FlatMapValues(Node):
    """The value becomes the values that mapper(value), or (key, value), returns; an expression gives a list."""

    mapper: Function
    with_key: bool = False


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SelectKey(Node):
    """The key becomes selector(key, value)."""

    changes_key: ClassVar[bool] = True
    selector: Function


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Split(Node):
    """Gives each record to the first branch whose predicate (key, value) is true; its children are `Branch`es.

    A record that no predicate takes goes to the default branch (a `Branch` with the index of the number of
    predicates), if there is one, and is dropped otherwise.
    """

    predicates: tuple[Function, ...]
    branches: tuple[str, ...]
    """The names of the branches' nodes, in the predicates' order."""
    default_branch: str | None = None


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Branch(Node):
    """What `Split` (its only parent) gives to one branch."""

    index: int


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Merge(Node):
    """All records of both parents; within each in order, between them in any."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Peek(Node):
    """Calls action(key, value) and hands the record on unchanged. Not exactly once: a retry calls again."""

    action: Function


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Foreach(Node):
    """Calls action(key, value); nothing follows. Not exactly once: a retry calls again."""

    action: Function


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Print(Node):
    """Prints `[label]: key, value`; nothing follows."""

    label: str


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class TableFilter(Node):
    """The rows of a table for which the predicate (key, value) is true.

    A change is handed on with each of its values replaced by null if the predicate does not hold for it, so
    a row that does not pass any more is deleted. If neither the old nor the new one passes, nothing comes
    where the old value is known (the table above has a store, `topology.materialized`), a deletion otherwise.
    Null values are not given to the predicate: they do not pass.
    """

    flow: ClassVar[Flow] = "table"
    predicate: Function
    negated: bool = False
    store: Store | None = None

    @property
    def stores(self) -> tuple[Store, ...]:
        return () if self.store is None else (self.store,)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class TableMapValues(Node):
    """The value of each row becomes mapper(value), or (key, value) if `with_key`; deletions stay deletions."""

    flow: ClassVar[Flow] = "table"
    mapper: Function
    with_key: bool = False
    store: Store | None = None

    @property
    def stores(self) -> tuple[Store, ...]:
        return () if self.store is None else (self.store,)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ToStream(Node):
    """The changes of a table as records: key and new value, null for a deletion. Old values are dropped."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ToTable(Node):
    """A stream read as a table: the last record of a key, by offset, is its value.

    Null values delete, records with null keys are dropped: as `TableSource`, with a store of its own.
    """

    flow: ClassVar[Flow] = "table"
    store: Store

    @property
    def stores(self) -> tuple[Store, ...]:
        return (self.store,)

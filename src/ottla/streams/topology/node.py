"""Pure: what all nodes of a topology have in common.

A topology is a graph of operators as the user wrote them. One node may be several processors in Kafka
Streams (a join of streams is five): `describe()` draws those, `Node.name` is the one that forwards results.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeVar

from ottla.streams.serdes.serde import Serde
from ottla.streams.topology.stores import Store
from ottla.streams.types import ANY, Type

OnError = Literal["fail", "skip", "dead-letter"]
"""What becomes of a record for which an operator raises, or that a source cannot read or a sink cannot write:
the application stops; the record is dropped, counted and logged; or it goes to `<application-id>-dead-letters`.
"""

Flow = Literal["stream", "table"]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Node:
    """One operator. Nodes are compared by identity; `parents` link to the nodes it reads from, left to right.

    What a node hands on is a `stream` of records (key, value, timestamp, headers), or the changes of a
    `table`: records (key, new value and old value, timestamp), a null new value being a deletion.

    Order: a node hands on what comes of one record before it sees the next. Several children of a node get
    each record in the order in which they were made. Headers go with the record that an operator handles;
    tables keep none: what a suppress or a window holds back comes without.
    """

    name: str
    parents: tuple[Node, ...]
    key_serde: Serde | None = None
    value_serde: Serde | None = None
    key_type: Type = ANY
    value_type: Type = ANY
    on_error: OnError = "fail"
    """Inherited from the first parent, unless the operator says otherwise."""

    flow: ClassVar[Flow] = "stream"
    changes_key: ClassVar[bool] = False
    """True if what comes out may have another key than what went in, so that a repartition must follow
    before anything that keeps state by key."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    @property
    def stores(self) -> tuple[Store, ...]:
        """The state that this node keeps or reads."""
        return ()


NodeT = TypeVar("NodeT", bound=Node)

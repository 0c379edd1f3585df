"""Pure: KStream: records, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ottla.streams.dsl.flow import (
    Flow,
    check_topics,
    chosen_serde,
    declared_serde,
    internal_topic,
    result_type,
)
from ottla.streams.dsl.functions import check_arguments, checked, pair, predicate, record_roots
from ottla.streams.dsl.stream_joins import join_global_table, join_stream, join_table
from ottla.streams.errors import TopologyError
from ottla.streams.expressions.build import is_expression_like
from ottla.streams.processors import Processor
from ottla.streams.serdes.by_name import fits, serde_of
from ottla.streams.topology.joins import JoinKind
from ottla.streams.topology.node import OnError
from ottla.streams.topology.processing import Process, Sink
from ottla.streams.topology.stateless import (
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
    ToTable,
)
from ottla.streams.topology.stores import Store
from ottla.streams.types import ANY, ListOf
from ottla.streams.windows import JoinWindows

if TYPE_CHECKING:
    from ottla.streams.dsl.branched import BranchedKStream
    from ottla.streams.dsl.grouped import KGroupedStream
    from ottla.streams.dsl.ktable import KTable

Given = Any
"""A function, or an expression of `f`."""


class KStream(Flow):
    """A stream of records. Every method makes a new stream; this one stays as it is.

    `name` names the operator (in `describe()`, errors and dead letters), `on_error` says what becomes of records
    for which it raises: "fail", "skip" or "dead-letter"; without it, what the stream above does.
    """

    def filter(
        self, predicate_: Given, *, name: str | None = None, on_error: OnError | None = None
    ) -> KStream:
        """Keep records for which predicate(key, value) is true."""
        return self._filter(predicate_, False, name, on_error)

    def filter_not(
        self, predicate_: Given, *, name: str | None = None, on_error: OnError | None = None
    ) -> KStream:
        """Drop records for which predicate(key, value) is true."""
        return self._filter(predicate_, True, name, on_error)

    def _filter(
        self, given: Given, negated: bool, name: str | None, on_error: OnError | None
    ) -> KStream:
        name = self.graph.name(name, "KSTREAM-FILTER-")
        function = predicate(given, self.node, name)
        return self._next(
            self._add(Filter, name, on_error=on_error, predicate=function, negated=negated)
        )

    def map(
        self, mapper: Given, *, name: str | None = None, on_error: OnError | None = None
    ) -> KStream:
        """Make another key and value: a function (key, value) that returns both, or a pair of expressions."""
        name = self.graph.name(name, "KSTREAM-MAP-")
        function, key, value = pair(mapper, self.node, name)
        node = self._add(
            Map, name, on_error=on_error, mapper=function,
            key_serde=None, value_serde=None, key_type=key, value_type=value,
        )  # fmt: skip
        return KStream(self.graph, node, repartition_needed=True)

    def map_values(
        self,
        mapper: Given,
        *,
        with_key: bool = False,
        returns: object = None,
        name: str | None = None,
        on_error: OnError | None = None,
    ) -> KStream:
        """Make another value: mapper(value), or mapper(key, value) if `with_key`, or an expression.

        `returns` declares a function's result (a dataclass, `int`, `list[str]`), for expressions further down.
        """
        name = self.graph.name(name, "KSTREAM-MAPVALUES-")
        function, inferred = self._value_mapper(mapper, with_key, name)
        node = self._add(
            MapValues, name, on_error=on_error, mapper=function, with_key=with_key,
            value_serde=declared_serde(returns), value_type=result_type(returns, inferred),
        )  # fmt: skip
        return self._next(node)

    def flat_map(
        self, mapper: Given, *, name: str | None = None, on_error: OnError | None = None
    ) -> KStream:
        """Make any number of records of one: a function (key, value) that returns pairs."""
        name = self.graph.name(name, "KSTREAM-FLATMAP-")
        check_arguments(_function(mapper, name), "key, value", name)
        node = self._add(
            FlatMap, name, on_error=on_error, mapper=mapper,
            key_serde=None, value_serde=None, key_type=ANY, value_type=ANY,
        )  # fmt: skip
        return KStream(self.graph, node, repartition_needed=True)

    def flat_map_values(
        self,
        mapper: Given,
        *,
        with_key: bool = False,
        returns: object = None,
        name: str | None = None,
        on_error: OnError | None = None,
    ) -> KStream:
        """Make any number of values of one: mapper(value) returns them, or an expression that is a list."""
        name = self.graph.name(name, "KSTREAM-FLATMAPVALUES-")
        function, inferred = self._value_mapper(mapper, with_key, name)
        if inferred != ANY and not isinstance(inferred, ListOf):
            raise TopologyError(f"{name}: must make a list of values, but makes a {inferred}")
        item = inferred.item if isinstance(inferred, ListOf) else ANY
        node = self._add(
            FlatMapValues, name, on_error=on_error, mapper=function, with_key=with_key,
            value_serde=declared_serde(returns), value_type=result_type(returns, item),
        )  # fmt: skip
        return self._next(node)

    def _value_mapper(self, given: Given, with_key: bool, name: str) -> Any:
        arguments = "key, value" if with_key else "value"
        return checked(given, arguments, record_roots(self.node), name)

    def select_key(
        self, selector: Given, *, name: str | None = None, on_error: OnError | None = None
    ) -> KStream:
        """Make another key: selector(key, value), or an expression."""
        name = self.graph.name(name, "KSTREAM-KEY-SELECT-")
        function, inferred = checked(selector, "key, value", record_roots(self.node), name)
        node = self._add(
            SelectKey, name, on_error=on_error, selector=function, key_serde=None, key_type=inferred
        )
        return KStream(self.graph, node, repartition_needed=True)

    def split(self, name: str | None = None) -> BranchedKStream:
        """Begin to divide this stream: `.branch(predicate, name)`..., then `.default_branch()` or not."""
        from ottla.streams.dsl.branched import BranchedKStream

        return BranchedKStream(self, self.graph.name(name, "KSTREAM-BRANCH-"))

    def branch(self, *predicates: Given, name: str | None = None) -> tuple[KStream, ...]:
        """One stream for each predicate (key, value): a record goes to the first that is true of it."""
        branched = self.split(name)
        for each in predicates:
            branched.branch(each)
        return tuple(branched.no_default_branch().values())

    def merge(self, other: KStream, *, name: str | None = None) -> KStream:
        """All records of both streams."""
        name = self.graph.name(name, "KSTREAM-MERGE-")
        ours, theirs = self.node, other.node
        node = self._add(
            Merge, name, parents=(ours, theirs),
            key_serde=ours.key_serde if ours.key_serde == theirs.key_serde else None,
            value_serde=ours.value_serde if ours.value_serde == theirs.value_serde else None,
            key_type=ours.key_type if ours.key_type == theirs.key_type else ANY,
            value_type=ours.value_type if ours.value_type == theirs.value_type else ANY,
        )  # fmt: skip
        needed = self.repartition_needed or other.repartition_needed
        return KStream(self.graph, node, needed or node.key_serde is None)

    def peek(
        self, action: Callable[[Any, Any], Any], *, name: str | None = None, on_error: OnError | None = None
    ) -> KStream:  # fmt: skip
        """Call action(key, value) with each record, and go on with the record."""
        name = self.graph.name(name, "KSTREAM-PEEK-")
        check_arguments(_function(action, name), "key, value", name)
        return self._next(self._add(Peek, name, on_error=on_error, action=action))

    def foreach(
        self, action: Callable[[Any, Any], Any], *, name: str | None = None, on_error: OnError | None = None
    ) -> None:  # fmt: skip
        """Call action(key, value) with each record."""
        name = self.graph.name(name, "KSTREAM-FOREACH-")
        check_arguments(_function(action, name), "key, value", name)
        self._add(Foreach, name, on_error=on_error, action=action)

    def print(self, label: str | None = None, *, name: str | None = None) -> None:
        """Print `[label]: key, value` for each record."""
        name = self.graph.name(name, "KSTREAM-PRINTER-")
        self._add(Print, name, label=self.node.name if label is None else label)

    def to(
        self,
        topic: Given,
        *,
        key: object = None,
        value: object = None,
        partitioner: Callable[[str, Any, Any, int], int | None] | None = None,
        name: str | None = None,
        on_error: OnError | None = None,
    ) -> None:
        """Write to a topic: a name, or a function (key, value) or an expression that makes one for each record.

        `key` and `value` are serdes; without them, those that the records were read with, or that fit.
        """
        name = self.graph.name(name, "KSTREAM-SINK-")
        node = self.node
        if isinstance(topic, str):
            check_topics((topic,), name)
        else:
            topic, _ = checked(topic, "key, value", record_roots(node), name)
        key_out = chosen_serde(key, node.key_serde, node.key_type, name)
        value_out = chosen_serde(value, node.value_serde, node.value_type, name)
        for part, serde, kind in (
            ("key", key_out, node.key_type),
            ("value", value_out, node.value_type),
        ):
            if not fits(serde, kind):
                raise TopologyError(
                    f"{name}: the {part}s are {kind}, which the serde {serde.name} cannot write: "
                    f"name another one ({part}=...), or convert with map_values() or map()"
                )
        self._add(
            Sink, name, on_error=on_error, topic=topic, key_out=key_out, value_out=value_out,
            partitioner=partitioner,
        )  # fmt: skip

    def repartition(
        self,
        name: str | None = None,
        *,
        key: object = None,
        value: object = None,
        partitions: int | None = None,
    ) -> KStream:
        """Send the records through an internal topic, `<application-id>-<name>-repartition`, by their key."""
        topic = self.graph.new_name("KSTREAM-REPARTITION-") if name is None else name
        node = internal_topic(self, topic, key, value, partitions=partitions)
        return KStream(self.graph, node)

    def group_by_key(
        self, *, key: object = None, value: object = None, name: str | None = None
    ) -> KGroupedStream:
        """Group the records by their key. `name` is that of the repartition topic, if one is needed."""
        from ottla.streams.dsl.grouped import KGroupedStream

        serdes = (
            None if key is None else serde_of(key, "group_by_key"),
            None if value is None else serde_of(value, "group_by_key"),
        )
        return KGroupedStream(self, serdes, name)

    def group_by(
        self, selector: Given, *, key: object = None, value: object = None, name: str | None = None
    ) -> KGroupedStream:
        """Group the records by selector(key, value), or by an expression."""
        return self.select_key(selector, name=name).group_by_key(key=key, value=value, name=name)

    def to_table(
        self,
        *,
        store: str | None = None,
        key: object = None,
        value: object = None,
        name: str | None = None,
    ) -> KTable:
        """Read the stream as a table: the last record of a key is its value, null deletes it."""
        from ottla.streams.dsl.ktable import KTable

        operator = self.graph.name(name, "KSTREAM-TOTABLE-")
        store_name = self.graph.new_store_name("KSTREAM-TOTABLE-") if store is None else store
        flow: Flow = self
        if self.repartition_needed:
            flow = Flow(
                self.graph,
                internal_topic(self, name or operator, key, value),
            )
        key_serde = chosen_serde(key, flow.node.key_serde, flow.node.key_type, operator)
        value_serde = chosen_serde(value, flow.node.value_serde, flow.node.value_type, operator)
        kept = Store(store_name, "key-value", key_serde, value_serde, queryable=store is not None)
        node = flow._add(
            ToTable, operator, store=self.graph.own_store(kept, operator),
            key_serde=key_serde, value_serde=value_serde,
        )  # fmt: skip
        return KTable(self.graph, node)

    def join(
        self, other: Any, joiner: Given, windows: JoinWindows | None = None, **options: Any
    ) -> KStream:
        """Join with a stream (within `windows`), a table, or a global table (by `key_selector`).

        joiner(left, right), or (key, left, right) with `with_key=True`, or an expression of `f.left` and `f.right`.
        Options: `returns`, `name`, `on_error`; for a stream also `store`, a prefix of both stores' names, and the
        serdes `key`, `value` and `other_value`.
        """
        return self._join("inner", other, joiner, windows, options)

    def left_join(
        self, other: Any, joiner: Given, windows: JoinWindows | None = None, **options: Any
    ) -> KStream:
        """As `join`; records without partner are joined with None: of a stream's, once their window has closed."""
        return self._join("left", other, joiner, windows, options)

    def outer_join(
        self, other: KStream, joiner: Given, windows: JoinWindows | None = None, **options: Any
    ) -> KStream:
        """As `left_join`, of both streams."""
        return self._join("outer", other, joiner, windows, options)

    def _join(
        self, kind: JoinKind, other: Any, joiner: Given, windows: JoinWindows | None, options: dict[str, Any]
    ) -> KStream:  # fmt: skip
        from ottla.streams.dsl.ktable import GlobalKTable, KTable

        if isinstance(other, KStream):
            return KStream(self.graph, join_stream(self, other, kind, joiner, windows, **options))
        if windows is not None:
            raise TopologyError(
                "a join with a table takes no windows: it meets the row as it is then"
            )
        if kind == "outer":
            raise TopologyError(
                "a stream cannot be joined with a table by outer_join(): use left_join()"
            )
        if isinstance(other, KTable):
            return KStream(self.graph, join_table(self, other, kind, joiner, **options))
        if isinstance(other, GlobalKTable):
            node = join_global_table(self, other, kind, joiner, **options)
            return KStream(self.graph, node, self.repartition_needed)
        raise TopologyError(
            f"a stream is joined with a stream, a table or a global table, not {other!r}"
        )

    def process(
        self,
        supplier: Callable[[], Processor],
        stores: Sequence[str] = (),
        *,
        name: str | None = None,
        on_error: OnError | None = None,
    ) -> KStream:
        """Run a processor of one's own: `supplier` (its class, say) makes one; `stores` names what it uses.

        It may forward records with any key, so that what groups them afterwards repartitions.
        """
        return self._process(supplier, stores, False, name, on_error)

    def process_values(
        self,
        supplier: Callable[[], Processor],
        stores: Sequence[str] = (),
        *,
        name: str | None = None,
        on_error: OnError | None = None,
    ) -> KStream:
        """As `process`, but forwarded records must keep their key, so that nothing need be repartitioned."""
        return self._process(supplier, stores, True, name, on_error)

    def _process(
        self, supplier: Callable[[], Processor], stores: Sequence[str], values_only: bool, name: str | None,
        on_error: OnError | None,
    ) -> KStream:  # fmt: skip
        name = self.graph.name(
            name, "KSTREAM-PROCESSVALUES-" if values_only else "KSTREAM-PROCESSOR-"
        )
        check_arguments(_function(supplier, name), "", name)
        state = tuple(self.graph.shared_store(store, name) for store in stores)
        inherited = {"key_serde": self.node.key_serde, "key_type": self.node.key_type}
        node = self._add(
            Process, name, on_error=on_error, supplier=supplier, state=state, values_only=values_only,
            value_serde=None, value_type=ANY, **(inherited if values_only else {"key_serde": None, "key_type": ANY}),
        )  # fmt: skip
        return KStream(self.graph, node, self.repartition_needed or not values_only)

    def _next(self, node: Any) -> KStream:
        return KStream(self.graph, node, self.repartition_needed)


def _function(given: object, operator: str) -> Callable[..., Any]:
    if not callable(given) or is_expression_like(given):
        raise TopologyError(f"{operator}: takes a function, not {given!r}")
    return given

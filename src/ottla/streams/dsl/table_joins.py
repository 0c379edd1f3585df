"""Pure: the joins of tables: by their keys, and by a foreign key."""

from __future__ import annotations

from typing import Any

from ottla.streams.dsl.flow import Flow, chosen_serde, declared_serde, result_type, same_keys
from ottla.streams.dsl.functions import checked, record_roots
from ottla.streams.dsl.stream_joins import checked_joiner
from ottla.streams.errors import TopologyError
from ottla.streams.serdes.serde import Serde
from ottla.streams.topology.joins import ForeignKeyJoin, ForeignKeyNames, JoinKind, TableTableJoin
from ottla.streams.topology.node import OnError
from ottla.streams.topology.stores import Store
from ottla.streams.types import ANY, Type


def join_tables(
    left: Flow,
    right: Flow,
    kind: JoinKind,
    joiner: object,
    *,
    with_key: bool = False,
    returns: object = None,
    store: str | None = None,
    value: object = None,
    name: str | None = None,
    on_error: OnError | None = None,
) -> TableTableJoin:
    """Add a join of two tables by their keys."""
    graph = left.graph
    operator = graph.name(name, "KTABLE-MERGE-")
    names = (
        graph.suffixed(name, "-join-this", "KTABLE-JOINTHIS-"),
        graph.suffixed(name, "-join-other", "KTABLE-JOINOTHER-"),
    )
    same_keys(left, right, operator)
    function, inferred = checked_joiner(joiner, left.node, right.node, with_key, operator)
    kind_of_value = result_type(returns, inferred)
    kept, serde = _result(left, store, value or declared_serde(returns), kind_of_value, operator)
    return left._add(
        TableTableJoin, operator, parents=(left.node, right.node), on_error=on_error, kind=kind,
        joiner=function, with_key=with_key, join_names=names, store=kept,
        value_serde=serde, value_type=kind_of_value,
    )  # fmt: skip


def _result(
    left: Flow, store: str | None, value: object, type_: Type, operator: str
) -> tuple[Store | None, Serde | None]:
    if store is None:
        return None, None if value is None else chosen_serde(value, None, type_, operator)
    kept = _stored(left, store, value, type_, operator, queryable=True)
    return kept, kept.value_serde


def _stored(
    left: Flow, name: str, value: object, type_: Type, operator: str, queryable: bool
) -> Store:
    node = left.node
    key_serde = chosen_serde(None, node.key_serde, node.key_type, operator)
    kept = Store(
        name, "key-value", key_serde, chosen_serde(value, None, type_, operator), queryable
    )
    return left.graph.own_store(kept, operator)


_SUBSCRIPTION = "KTABLE-FK-JOIN-SUBSCRIPTION-"


def join_by_foreign_key(
    left: Flow,
    right: Flow,
    kind: Any,
    joiner: object,
    foreign_key: object,
    *,
    foreign_key_with_key: bool = False,
    with_key: bool = False,
    returns: object = None,
    store: str | None = None,
    value: object = None,
    name: str | None = None,
    on_error: OnError | None = None,
) -> ForeignKeyJoin:
    """Add a join of a table with another by a part of its value."""
    graph = left.graph
    names, state = _foreign_key_names(left, name)
    operator = graph.suffixed(name, "-result", "KTABLE-FK-JOIN-OUTPUT-")
    if kind == "outer":
        raise TopologyError(f"{operator}: a foreign-key join is inner or left, never outer")
    arguments = "key, value" if foreign_key_with_key else "value"
    extractor, key_type = checked(foreign_key, arguments, record_roots(left.node), operator)
    wanted = right.node.key_type
    if ANY not in (key_type, wanted) and key_type != wanted:
        raise TopologyError(
            f"{operator}: the foreign key is a {key_type}, but the other table's keys are {wanted}: "
            "they never meet; convert it with f.string, f.long or f.double"
        )
    function, inferred = checked_joiner(joiner, left.node, right.node, with_key, operator)
    kind_of_value = result_type(returns, inferred)
    named = left.graph.new_store_name("KTABLE-FK-JOIN-OUTPUT-") if store is None else store
    kept = _stored(
        left,
        named,
        value or declared_serde(returns),
        kind_of_value,
        operator,
        queryable=store is not None,
    )
    subscriptions = Store(state, "foreign-key", right.node.key_serde)
    return left._add(
        ForeignKeyJoin, operator, parents=(left.node, right.node), on_error=on_error, kind=kind,
        extractor=extractor, extractor_with_key=foreign_key_with_key, joiner=function, with_key=with_key,
        names=names, subscription_store=graph.own_store(subscriptions, operator), store=kept,
        value_serde=kept.value_serde, value_type=kind_of_value,
    )  # fmt: skip


def _foreign_key_names(left: Flow, name: str | None) -> tuple[ForeignKeyNames, str]:
    """Names in the order in which Kafka Streams numbers them."""
    suffixed = left.graph.suffixed
    topic = suffixed(name, "-subscription-registration", f"{_SUBSCRIPTION}REGISTRATION-")
    registration = suffixed(
        name, "-subscription-registration-processor", f"{_SUBSCRIPTION}REGISTRATION-"
    )
    sink = suffixed(name, "-subscription-registration-sink", "KTABLE-SINK-")
    source = suffixed(name, "-subscription-registration-source", "KTABLE-SOURCE-")
    state = (
        left.graph.new_store_name(_SUBSCRIPTION) if name is None else f"{name}-subscription-store"
    )
    receive = suffixed(name, "-subscription-receive", f"{_SUBSCRIPTION}PROCESSOR-")
    join = suffixed(name, "-subscription-join-foreign", f"{_SUBSCRIPTION}PROCESSOR-")
    foreign = suffixed(name, "-foreign-join-subscription", f"{_SUBSCRIPTION}PROCESSOR-")
    response = suffixed(name, "-subscription-response", f"{_SUBSCRIPTION}RESPONSE-")
    response_sink = suffixed(name, "-subscription-response-sink", "KTABLE-SINK-")
    response_source = suffixed(name, "-subscription-response-source", "KTABLE-SOURCE-")
    resolver = suffixed(
        name, "-subscription-response-resolver", f"{_SUBSCRIPTION}RESPONSE-RESOLVER-PROCESSOR-"
    )
    return ForeignKeyNames(
        registration_topic=f"{topic}-topic",
        response_topic=f"{response}-topic",
        registration=registration,
        registration_sink=sink,
        registration_source=source,
        subscription_receive=receive,
        subscription_join=join,
        foreign_table_join=foreign,
        response_sink=response_sink,
        response_source=response_source,
        resolver=resolver,
    ), state

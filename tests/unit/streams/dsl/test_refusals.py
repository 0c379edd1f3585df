"""Topologies that cannot run are refused when they are built, with the operator's name and the way out."""

import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from ottla.streams import (
    JoinWindows,
    JsonSerde,
    KStream,
    Processor,
    SessionWindows,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
    TopologyError,
    f,
)


@dataclass
class Order:
    customer: str
    amount: float


def orders(builder: StreamsBuilder) -> KStream:
    return builder.stream("orders", key="string", value=JsonSerde(Order))


def plain(builder: StreamsBuilder) -> KStream:
    return builder.stream("plain", key="string", value="json")


REFUSALS: list[tuple[str, Callable[[StreamsBuilder], object]]] = [
    (
        "KSTREAM-FILTER-0000000001: f.value has no field amont: it is Order with the fields customer, "
        "amount. Did you mean amount?",
        lambda b: orders(b).filter(f.value.amont > 5),
    ),
    (
        "KSTREAM-FILTER-0000000001: greater does not take operands of the types string, long",
        lambda b: orders(b).filter(f.value.customer > 5),
    ),
    ("the predicate is a double", lambda b: orders(b).filter(f.value.amount)),
    (
        "KSTREAM-FILTER-0000000001: is called with (key, value), but <lambda> takes (value)",
        lambda b: plain(b).filter(lambda value: True),
    ),
    (
        "two streams are joined within a time: give JoinWindows",
        lambda b: plain(b).join(orders(b), lambda left, right: left),
    ),
    (
        "the keys of its two sides have different bytes (serdes string and long)",
        lambda b: plain(b).join(b.table("t", key="long", value="json"), lambda left, right: left),
    ),
    (
        "its sides were repartitioned to 3 and 5 partitions",
        lambda b: plain(b).repartition("a", partitions=3).filter(f.value.x).join(
            orders(b).repartition("b", partitions=5), lambda left, right: left, JoinWindows(1_000)
        ),
    ),
    (
        "until_window_closes() needs a windowed table",
        lambda b: plain(b).group_by_key().count().suppress(Suppressed.until_window_closes()),
    ),
    (
        "the values are long, which the serde string cannot write: name another one (value=...)",
        lambda b: plain(b).group_by_key().count().to_stream().to("counts", value="string"),
    ),
    (
        "there is no store 'seen': add it first, with builder.add_store('seen', ...)",
        lambda b: plain(b).process(Processor, stores=["seen"]),
    ),
    (
        "the topic plain is read by KSTREAM-SOURCE-0000000000 already, in another way",
        lambda b: (plain(b), b.table("plain", key="string", value="json")),
    ),
    (
        "sessions are merged when a record connects them: give a merger(key, left, right)",
        lambda b: plain(b).group_by_key().windowed_by(SessionWindows(5)).aggregate(
            list, lambda key, value, aggregate: aggregate
        ),
    ),
    (
        "f.min cannot be taken back when a row goes",
        lambda b: b.table("t", key="string", value="json")
        .group_by((f.value.x, f.value))
        .aggregate(f.min(f.value.y)),
    ),
    ("the store mine is already that of", lambda b: (
        plain(b).group_by_key().count(store="mine"), orders(b).group_by_key().count(store="mine")
    )),
    ("two operators are named same", lambda b: plain(b).filter(f.value.x, name="same").peek(print, name="same")),
    ("on_error is 'ignore', but must be fail, skip or dead-letter", lambda b: b.stream("x", on_error="ignore")),
    ("there is no serde 'jason'", lambda b: b.stream("x", value="jason")),
    ("'no topic' cannot be the name of a topic", lambda b: b.stream("no topic")),
    ("'no topic' cannot be the name of a topic", lambda b: plain(b).to("no topic")),
    ("make them all with one StreamsBuilder", lambda b: plain(b).merge(orders(StreamsBuilder()))),
    ("an expression has no methods", lambda b: plain(b).filter(f.value.name.lower() == "x")),
    ("takes a function, not", lambda b: plain(b).peek(f.value)),
    ("is no serde", lambda b: plain(b).to("out", key=f.key)),
    ("the topology is empty", lambda b: b.build()),
    ("f.value is of one record, the aggregate of many", lambda b: plain(b).group_by_key().aggregate(
        f.struct(total=f.sum(f.value.x), name=f.value.name)
    )),
    ("are for aggregate()", lambda b: plain(b).map_values(f.sum(f.value.x))),
    ("there is no f.left here", lambda b: plain(b).filter(f.left.x)),
    ("write & | ~ for and, or, not", lambda b: plain(b).filter(f.value.x and f.value.y)),
    ("by outer_join(): use left_join()", lambda b: plain(b).outer_join(
        b.table("t", key="string", value="json"), lambda left, right: left
    )),
    ("give key_selector=", lambda b: plain(b).join(b.global_table("g"), lambda left, right: left)),
    ("retention_ms is 5, but windows stay open for 60000 ms", lambda b: plain(b).group_by_key().windowed_by(
        TimeWindows(60_000)
    ).count(retention_ms=5)),
    ("advance_ms is 10, but must be above 0 and at most size_ms (5)", lambda b: TimeWindows(5, 10)),
]  # fmt: skip


@pytest.mark.parametrize(("sentence", "build"), REFUSALS, ids=range(len(REFUSALS)))
def test_what_cannot_run_is_refused(
    sentence: str, build: Callable[[StreamsBuilder], object]
) -> None:
    with pytest.raises(TopologyError, match=re.escape(sentence)):
        build(StreamsBuilder())


def test_without_a_schema_a_misspelt_field_is_no_error() -> None:
    builder = StreamsBuilder()
    plain(builder).filter(f.value.amont > 5).to("large")
    assert [sink.topic for sink in builder.build().sinks] == ["large"]

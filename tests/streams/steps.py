"""Cases of the comparison with Kafka Streams: steps that build a topology, here with ottla; in Java: kafka/Cases.java.

Keys are strings, values whole numbers. A step names its operator (`op`), what it reads (`in`, `other`) and what
later steps call its result (`out`).
"""

from __future__ import annotations

from typing import Any

from ottla.streams import (
    GlobalKTable,
    JoinWindows,
    KStream,
    KTable,
    SessionWindows,
    SlidingWindows,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
    Topology,
)

Step = dict[str, Any]
PRIME = 100003
SERDES: dict[str, Any] = {"key": "string", "value": "long"}


def even(value: int | None) -> bool:
    return value is not None and value % 2 == 0


def small(value: int | None) -> bool:
    return value is None or value < 5


PREDICATES = {
    "even": lambda key, value: even(value),
    "small": lambda key, value: small(value),
    "not_null": lambda key, value: value is not None,
}

MAPPERS = {
    "inc": lambda value: None if value is None else value + 1,
    "null_odd": lambda value: value if even(value) else None,
    "double": lambda value: 0 if value is None else value * 2,
}


def key_of(value: int | None) -> str | None:
    return None if value is None else f"m{value % 3}"


def foreign(value: int | None) -> str | None:
    return None if value is None or value % 5 == 0 else f"k{value % 4}"


def joined(left: int | None, right: int | None) -> int:
    return ((-1 if left is None else left) * 31 + (-2 if right is None else right)) % PRIME


def reduced(old: int, new: int | None) -> int:
    return (old * 3 + (new or 0)) % PRIME


def aggregated(key: str, value: int | None, aggregate: int | None) -> int | None:
    result = ((aggregate or 0) * 31 + (5 if value is None else value)) % PRIME
    return None if result % 7 == 0 else result


def topology(steps: list[Step]) -> Topology:
    """Build the topology of a case."""
    builder, flows = StreamsBuilder(), dict[str, Any]()
    for step in steps:
        _apply(builder, flows, step)
    return builder.build()


def _apply(builder: StreamsBuilder, flows: dict[str, Any], step: Step) -> None:
    op, out = step["op"], step.get("out")
    if op in ("stream", "table", "global_table"):
        options = dict(SERDES)
        if step.get("store"):
            options["store"] = step["store"]
        flows[out] = getattr(builder, op)(step["topic"], **options)
        return
    flow = flows[step["in"]]
    if op == "to":
        flow.to(step["topic"], **SERDES)
    elif op == "branch":
        branches = flow.split().branch(PREDICATES["even"]).branch(PREDICATES["small"])
        for index, (_, branch) in enumerate(sorted(branches.default_branch().items())):
            flows[f"{out}{index}"] = branch
    elif isinstance(flow, KStream):
        flows[out] = _of_stream(flow, flows.get(step.get("other", "")), step)
    else:
        flows[out] = _of_table(flow, flows.get(step.get("other", "")), step)


def _of_stream(stream: KStream, other: Any, step: Step) -> KStream | KTable | GlobalKTable:
    op = step["op"]
    if op in ("filter", "filter_not"):
        result: Any = getattr(stream, op)(PREDICATES[step["f"]])
    elif op == "map_values":
        result = stream.map_values(MAPPERS[step["f"]])
    elif op == "flat_map_values":
        result = stream.flat_map_values(lambda value: [] if value is None else [value, value + 100])
    elif op == "flat_map":
        result = stream.flat_map(
            lambda key, value: [] if value is None else [(key_of(value), value), (key, value + 1)]
        )
    elif op == "map":
        result = stream.map(lambda key, value: (key_of(value), MAPPERS["inc"](value)))
    elif op == "select_key":
        result = stream.select_key(lambda key, value: key_of(value))
    elif op == "merge":
        result = stream.merge(other)
    elif op == "peek":
        result = stream.peek(lambda key, value: None)
    elif op == "repartition":
        result = stream.repartition(step.get("name"), **SERDES)
    elif op == "to_table":
        result = stream.to_table(store=step.get("store"), **SERDES)
    elif op == "aggregate":
        result = _aggregate(stream, step)
    else:
        result = _joined_stream(stream, other, step)
    return result


def _joined_stream(stream: KStream, other: Any, step: Step) -> KStream | KTable:
    op = step["op"]
    if op == "cogroup":
        return (
            stream.group_by_key(**SERDES)
            .cogroup(aggregated)
            .cogroup(
                other.group_by_key(**SERDES),
                lambda key, value, aggregate: (
                    (aggregate * 3 + 2 * (5 if value is None else value)) % PRIME
                ),
            )
            .aggregate(lambda: 1, store=step.get("store"), **SERDES)
        )
    method = getattr(
        stream, {"inner": "join", "left": "left_join", "outer": "outer_join"}[step["kind"]]
    )
    if op == "join_ss":
        windows = JoinWindows(0, step["grace"], before_ms=step["before"], after_ms=step["after"])
        result: KStream = method(other, joined, windows, other_value="long", **SERDES)
    elif op == "join_sg":
        result = method(other, joined, key_selector=lambda key, value: foreign(value))
    else:
        result = method(other, joined, **SERDES)
    return result


def _aggregate(stream: KStream, step: Step) -> KTable:
    if step["group"] == "key":
        grouped: Any = stream.group_by_key(name=step.get("group_name"), **SERDES)
    else:
        grouped = stream.group_by(
            lambda key, value: key_of(value), name=step.get("group_name"), **SERDES
        )
    windows, options = step.get("windows"), dict[str, Any](SERDES, store=step.get("store"))
    merger: Any = None
    if windows:
        grouped = grouped.windowed_by(_windows(windows))
        if step.get("emit"):
            grouped = grouped.emit_strategy("on-window-close")
        if windows["kind"] == "session":
            merger = lambda key, left, right: (left * 17 + right) % PRIME  # noqa: E731  # as its siblings are
    if step["kind"] == "count":
        result: KTable = grouped.count(**options)
    elif step["kind"] == "reduce":
        result = grouped.reduce(reduced, **options)
    else:
        result = grouped.aggregate(lambda: 1, aggregated, merger, **options)
    return result


def _windows(given: dict[str, Any]) -> TimeWindows | SlidingWindows | SessionWindows:
    if given["kind"] == "session":
        return SessionWindows(given["gap"], given["grace"])
    if given["kind"] == "sliding":
        return SlidingWindows(given["difference"], given["grace"])
    return TimeWindows(given["size"], given["advance"], given["grace"])


def _of_table(table: KTable, other: Any, step: Step) -> KStream | KTable:
    op, store = step["op"], step.get("store")
    if op in ("t_filter", "t_filter_not"):
        result: Any = getattr(table, op[2:])(PREDICATES[step["f"]], store=store)
    elif op == "t_map_values":
        result = table.map_values(MAPPERS[step["f"]], value="long", store=store)
    elif op == "t_aggregate":
        grouped = table.group_by(lambda key, value: (key_of(value), value), **SERDES)
        if step["kind"] == "count":
            result = grouped.count(store=store)
        elif step["kind"] == "reduce":
            result = grouped.reduce(
                lambda aggregate, value: (aggregate + value) % PRIME,
                lambda aggregate, value: (aggregate - value) % PRIME,
                store=store,
            )
        else:
            result = grouped.aggregate(
                lambda: 1,
                lambda key, value, aggregate: (aggregate * 31 + value) % PRIME,
                lambda key, value, aggregate: (aggregate * 7 - value) % PRIME,
                value="long",
                store=store,
            )
    elif op in ("join_tt", "join_fk"):
        options = {"foreign_key": foreign} if op == "join_fk" else {}
        method = {"inner": "join", "left": "left_join", "outer": "outer_join"}[step["kind"]]
        result = getattr(table, method)(other, joined, value="long", store=store, **options)
    elif op == "suppress_time":
        result = table.suppress(Suppressed.until_time_limit(step["limit"]))
    elif op == "suppress_window":
        result = table.suppress(Suppressed.until_window_closes())
    elif op == "w_to_stream":
        result = table.to_stream().map(
            lambda window, value: (f"{window.key}@{window.start_ms}-{window.end_ms}", value)
        )
    else:
        assert op == "to_stream", op
        result = table.to_stream()
    return result

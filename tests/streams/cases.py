"""Random cases of the comparison: topologies as steps (steps.py), and the records they are fed. A seed is a case."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from tests.streams.steps import Step

Record = tuple[str, str | None, int | None, int]
"""Topic, key, value, timestamp."""

KEYS = ("k0", "k1", "k2", "k3")


@dataclass
class Case:
    """What both sides are given."""

    steps: list[Step]
    records: list[Record]


@dataclass
class _Growing:
    """A topology while steps are added: what there is, by kind."""

    random: random.Random
    steps: list[Step] = field(default_factory=list)
    streams: list[str] = field(default_factory=list)
    tables: list[str] = field(default_factory=list)
    aggregates: list[str] = field(default_factory=list)
    """Tables that are not computed with: what differs then is told in docs/streams.md."""
    windowed: list[str] = field(default_factory=list)
    globals: list[str] = field(default_factory=list)
    topics: list[str] = field(default_factory=list)
    disorder_ms: int = 0

    def add(self, into: list[str], **step: Any) -> str:
        """Add a step, and its result's name to those of its kind."""
        name = f"n{len(self.steps)}"
        self.steps.append({"out": name, **step})
        into.append(name)
        return name

    def one_of(self, *values: Any) -> Any:
        return self.random.choice(values)

    def store(self) -> str | None:
        return self.one_of(None, f"store{len(self.steps)}")

    def topic(self, prefix: str) -> str:
        self.topics.append(f"{prefix}{len(self.topics)}")
        return self.topics[-1]


def case(seed: int) -> Case:
    """Make the case of a seed."""
    growing = _Growing(random.Random(seed))
    growing.disorder_ms = growing.one_of(0, 0, 3, 15, 60)
    growing.add(growing.streams, op="stream", topic=growing.topic("s"))
    growing.add(growing.tables, op="table", topic=growing.topic("t"), store=growing.store())
    for _ in range(growing.random.randint(1, 7)):
        _grow(growing)
    _end(growing)
    return Case(growing.steps, _records(growing))


def _grow(growing: _Growing) -> None:
    kinds = [
        _stateless,
        _stateless,
        _aggregate,
        _stream_join,
        _source,
        _table_step,
        _table_step,
        _windowed,
    ]
    growing.one_of(*kinds)(growing)


def _source(growing: _Growing) -> None:
    kind = growing.one_of("stream", "table", "table", "global_table")
    store = growing.store() if kind == "table" else None
    into = {
        "stream": growing.streams,
        "table": growing.tables,
        "global_table": growing.globals,
    }[kind]
    growing.add(into, op=kind, topic=growing.topic(kind[0]), store=store)


def _stateless(growing: _Growing) -> None:
    stream = growing.one_of(*growing.streams)
    op = growing.one_of(
        "filter", "filter_not", "map_values", "flat_map_values", "flat_map", "map", "select_key",
        "merge", "repartition", "peek", "branch",
    )  # fmt: skip
    step: Step = {"op": op, "in": stream}
    if op in ("filter", "filter_not"):
        step["f"] = growing.one_of("even", "small", "not_null")
    elif op == "map_values":
        step["f"] = growing.one_of("inc", "null_odd", "double")
    elif op == "merge":
        step["other"] = growing.one_of(*growing.streams)
        if step["other"] == stream:
            return
    elif op == "repartition":
        step["name"] = growing.one_of(None, f"again{len(growing.steps)}")
    name = growing.add(growing.streams, **step)
    if op == "branch":
        growing.streams.remove(name)
        growing.streams += [f"{name}{index}" for index in range(3)]


def _aggregate(growing: _Growing) -> None:
    kind = growing.one_of("count", "reduce", "aggregate")
    growing.add(
        growing.tables if kind == "reduce" else growing.aggregates, op="aggregate", kind=kind,
        group=growing.one_of("key", "value"), store=growing.store(),
        group_name=growing.one_of(None, None, f"group{len(growing.steps)}"),
        **{"in": growing.one_of(*growing.streams)},
    )  # fmt: skip


def _windowed(growing: _Growing) -> None:
    kind = growing.one_of("tumbling", "hopping", "sliding", "session")
    grace = growing.one_of(0, 5, 20)
    if kind == "session":
        grace = max(grace, growing.disorder_ms)  # late records: see docs/streams.md
    windows = {
        "tumbling": {"size": 10, "advance": 10},
        "hopping": {"size": 20, "advance": growing.one_of(5, 7, 10)},
        "sliding": {"difference": growing.one_of(1, 5, 12)},
        "session": {"gap": growing.one_of(3, 10)},
    }[kind]
    growing.add(
        growing.windowed, op="aggregate", kind=growing.one_of("count", "reduce", "aggregate"),
        group=growing.one_of("key", "value"), windows={"kind": kind, "grace": grace, **windows},
        store=f"store{len(growing.steps)}", emit=growing.one_of(None, None, "closed"),
        **{"in": growing.one_of(*growing.streams)},
    )  # fmt: skip
    if growing.random.random() < 0.3 and kind != "sliding":
        growing.add(growing.windowed, op="suppress_window", **{"in": growing.windowed[-1]})


def _stream_join(growing: _Growing) -> None:
    kind = growing.one_of("ss", "st", "sg", "cogroup")
    left = growing.one_of(*growing.streams)
    if kind == "ss":
        span = growing.one_of(0, 5, 12)
        how = growing.one_of("inner", "left", "outer")
        grace = growing.one_of(0, 10) if how == "inner" else 0
        growing.add(
            growing.streams, op="join_ss", kind=how, other=_other_stream(growing),
            before=span, after=span if how != "inner" else growing.one_of(0, 5, 12), grace=grace,
            **{"in": left},
        )  # fmt: skip
    elif kind == "cogroup":
        growing.add(
            growing.aggregates, op="cogroup", other=_other_stream(growing),
            store=growing.store(), **{"in": left},
        )  # fmt: skip
    elif kind == "st" or not growing.globals:
        growing.add(
            growing.streams, op="join_st", kind=growing.one_of("inner", "left"),
            other=growing.one_of(*growing.tables, *growing.aggregates), **{"in": left},
        )  # fmt: skip
    else:
        growing.add(
            growing.streams, op="join_sg", kind=growing.one_of("inner", "left"),
            other=growing.one_of(*growing.globals), **{"in": left},
        )  # fmt: skip


def _other_stream(growing: _Growing) -> str:
    """A stream of its own topic: what one record sends through two internal topics comes in no certain order."""
    name = growing.add(growing.streams, op="stream", topic=growing.topic("s"))
    return growing.add(
        growing.streams, op="map_values", f=growing.one_of("inc", "null_odd"), **{"in": name}
    )


def _table_step(growing: _Growing) -> None:
    table = growing.one_of(*growing.tables)
    op = growing.one_of(
        "t_filter", "t_filter_not", "t_map_values", "t_aggregate", "join_tt", "join_tt", "join_fk", "to_stream",
        "to_table", "suppress_time",
    )  # fmt: skip
    step: Step = {"op": op, "in": table}
    if op in ("t_filter", "t_filter_not"):
        step |= {"f": growing.one_of("even", "small"), "store": growing.store()}
    elif op == "t_map_values":
        step |= {"f": growing.one_of("inc", "null_odd", "double"), "store": growing.store()}
    elif op == "t_aggregate":
        step |= {"kind": growing.one_of("count", "reduce", "aggregate"), "store": growing.store()}
    elif op == "join_tt":
        other = growing.one_of(*growing.tables)
        if other == table:
            return
        step |= {
            "kind": growing.one_of("inner", "left", "outer"),
            "other": other,
            "store": growing.store(),
        }
    elif op == "join_fk":
        # A table of its own: Kafka Streams handles subscriptions later, behind a topic.
        other = growing.add(
            growing.tables, op="table", topic=growing.topic("t"), store=growing.store()
        )
        step |= {
            "kind": growing.one_of("inner", "left"),
            "other": other,
            "store": growing.store(),
        }
    elif op == "suppress_time":
        step["limit"] = growing.one_of(0, 5, 20)
    if op == "to_table":
        step |= {"in": growing.one_of(*growing.streams), "store": growing.store()}
    into = {
        "to_stream": growing.streams,
        "suppress_time": growing.aggregates,
        "join_fk": growing.aggregates,
    }
    growing.add(into.get(op, growing.tables), **step)


def _end(growing: _Growing) -> None:
    """Write what has been computed: up to four results."""
    ends = [(name, None) for name in growing.streams[1:]]
    ends += [(name, "to_stream") for name in growing.tables[1:] + growing.aggregates]
    ends += [(name, "w_to_stream") for name in growing.windowed]
    growing.random.shuffle(ends)
    for index, (name, op) in enumerate(ends[:4] or [(growing.streams[0], None)]):
        if op is not None:
            name = growing.add(growing.streams, op=op, **{"in": name})
        growing.steps.append({"op": "to", "in": name, "topic": f"out{index}"})


def _records(growing: _Growing) -> list[Record]:
    """Records of all topics: out of order by as much as the case has it, with nulls."""
    chance, now, records = growing.random, 0, list[Record]()
    for _ in range(chance.randint(5, 60)):
        now += chance.choice((0, 0, 1, 2, 5, 30))
        topic = chance.choice(growing.topics)
        key = None if chance.random() < 0.04 else chance.choice(KEYS)
        value = None if chance.random() < 0.15 else chance.randint(0, 20)
        records.append((topic, key, value, max(0, now - chance.randint(0, growing.disorder_ms))))
    late = now + 100_000
    for topic in growing.topics:
        records += [(topic, "last", 4, late), (topic, "last", 4, late + 50_000)]
    return records

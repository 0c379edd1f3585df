"""Pure: the text of `describe()`: that of Kafka Streams."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

from ottla.streams.topology.node import Node
from ottla.streams.topology.physical import (
    Part,
    PhysicalSink,
    Processor,
    Source,
    groups_of,
    parts_of,
)

Order = Callable[[Part], tuple[int, str]]


def described(nodes: Iterable[Node]) -> str:
    """Return the topology's text.

    As in Kafka Streams, parts with more below them come first, equal ones by name. Kafka Streams prints the
    names after an arrow in an order that depends on hash codes; here they are ordered like the parts.
    """
    texts = [_sub_topology(index, group) for index, group in enumerate(groups_of(parts_of(nodes)))]
    return "Topologies:\n " + "".join(texts)


def _sub_topology(index: int, parts: tuple[Part, ...]) -> str:
    below: dict[str, list[Part]] = {part.name: [] for part in parts}
    for part in parts:
        if not isinstance(part, Source):
            for parent in part.parents:
                below[parent].append(part)

    @cache
    def size(name: str) -> int:
        return 1 + sum(size(child.name) for child in below[name])

    def order(part: Part) -> tuple[int, str]:
        return (-size(part.name), part.name)

    by_name = {part.name: part for part in parts}
    is_global = any(isinstance(part, Source) and part.is_global for part in parts)
    title = f"  Sub-topology: {index}{' for global store (will not generate tasks)' if is_global else ''}\n"
    lines = [
        _text(part, sorted(below[part.name], key=order), by_name, order)
        for part in sorted(parts, key=order)
    ]
    return title + "".join(f"    {line}\n" for line in lines) + ("" if is_global else "\n")


def _text(part: Part, below: list[Part], by_name: dict[str, Part], order: Order) -> str:
    arrow = f"\n      --> {_names(below)}"
    if isinstance(part, Source):
        return f"Source: {part.name} (topics: {part.topics}){arrow}"
    above = sorted((by_name[name] for name in part.parents), key=order)
    came = f"\n      <-- {_names(above)}"
    if isinstance(part, PhysicalSink):
        return f"Sink: {part.name} ({part.topic}){came}"
    assert isinstance(part, Processor)
    return f"Processor: {part.name} (stores: [{', '.join(part.stores)}]){arrow}{came}"


def _names(parts: list[Part]) -> str:
    return ", ".join(part.name for part in parts) or "none"

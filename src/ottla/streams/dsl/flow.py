"""Pure: what KStream and KTable have in common: a node, and how the next one is added."""

from __future__ import annotations

import dataclasses
import re
from typing import Any, Final

from ottla.streams.dsl.graph import Graph
from ottla.streams.errors import TopologyError
from ottla.streams.serdes.by_name import serde_for, serde_of
from ottla.streams.serdes.json import JsonSerde
from ottla.streams.serdes.serde import Serde
from ottla.streams.topology.node import Node, NodeT, OnError
from ottla.streams.topology.processing import Repartition
from ottla.streams.types import ANY, Type, of_annotation

_GENERATED: Final = re.compile(r"KSTREAM.*-[0-9]{10}")
"""Topics whose name nobody chose: their parts are numbered, others are named after the topic."""

_LEGAL_TOPIC: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")


class Flow:
    """A place in the topology: `node` is the operator whose results are meant."""

    def __init__(self, graph: Graph, node: Node, repartition_needed: bool = False) -> None:
        self.graph = graph
        self.node = node
        self.repartition_needed = repartition_needed
        """True if the key may have changed since the last topic."""

    def _add(
        self,
        kind: type[NodeT],
        name: str,
        /,
        on_error: OnError | None = None,
        parents: tuple[Node, ...] | None = None,
        **fields: Any,
    ) -> NodeT:
        """Add a node behind this one; serdes and types are this one's unless others are given."""
        node = self.node
        inherited = {
            "key_serde": node.key_serde,
            "value_serde": node.value_serde,
            "key_type": node.key_type,
            "value_type": node.value_type,
        }
        return self.graph.add(
            kind(
                name=name,
                parents=(node,) if parents is None else parents,
                on_error=error_policy(on_error, name) or node.on_error,
                **{**inherited, **fields},
            )
        )


def error_policy(given: OnError | None, operator: str) -> OnError | None:
    """Return the policy; raise TopologyError if there is none of that name."""
    if given not in (None, "fail", "skip", "dead-letter"):
        raise TopologyError(
            f"{operator}: on_error is {given!r}, but must be fail, skip or dead-letter"
        )
    return given


def chosen_serde(given: object, inherited: Serde | None, type_: Type, operator: str) -> Serde:
    """The serde that the user named, else the one that came along, else the one that fits the type."""
    if given is not None:
        return serde_of(given, operator)
    return serde_for(type_) if inherited is None else inherited


def result_type(returns: object, inferred: Type) -> Type:
    """The type that the user declared (`returns=`), else what is known of the function."""
    return inferred if returns is None else of_annotation(returns)


def declared_serde(returns: object) -> Serde | None:
    """The serde of a result declared as a dataclass (`returns=`): JSON that becomes its instances again."""
    if isinstance(returns, type) and dataclasses.is_dataclass(returns):
        return JsonSerde(returns)
    return None


def internal_topic(
    flow: Flow,
    topic: str,
    key: object,
    value: object,
    *,
    partitions: int | None = None,
) -> Repartition:
    """Add the internal topic through which records reach the partition of their key."""
    graph, node = flow.graph, flow.node
    generated = [graph.new_name(f"KSTREAM-{part}-") for part in ("SINK", "FILTER", "SOURCE")]
    if not _GENERATED.fullmatch(topic):
        generated = [f"{topic}-repartition-{part}" for part in ("sink", "filter", "source")]
    sink, filter_name, source = generated
    known = graph.repartitions.get(topic)
    if known is not None and known.parents == (node,):
        return known
    operator = f"the repartition topic {topic}"
    graph.repartitions[topic] = flow._add(
        Repartition,
        source,
        topic=topic,
        sink_name=sink,
        source_name=source,
        filter_name=filter_name,
        partitions=partitions,
        key_serde=chosen_serde(key, node.key_serde, node.key_type, operator),
        value_serde=chosen_serde(value, node.value_serde, node.value_type, operator),
    )
    return graph.repartitions[topic]


def same_keys(left: Flow, right: Flow, operator: str) -> None:
    """Raise TopologyError if records with equal keys cannot be in equal partitions."""
    ours, theirs = left.node.key_serde, right.node.key_serde
    if ours is not None and theirs is not None and ours != theirs:
        raise TopologyError(
            f"{operator}: the keys of its two sides have different bytes (serdes {ours.name} and {theirs.name}), "
            "so they are in different partitions: read both with the same key serde, or change the key of one "
            "side with select_key() so that it is written again"
        )
    kinds = {left.node.key_type, right.node.key_type}
    if ANY not in kinds and len(kinds) == 2:
        raise TopologyError(
            f"{operator}: the keys of its two sides are {left.node.key_type} and {right.node.key_type}: "
            "they never meet; change one with select_key()"
        )
    counts = [count for count in map(_partitions, (left.node, right.node)) if count is not None]
    if len(set(counts)) == 2:
        raise TopologyError(
            f"{operator}: its sides were repartitioned to {counts[0]} and {counts[1]} partitions: records with "
            "equal keys do not meet; give both repartition() calls the same number"
        )


def _partitions(node: Node) -> int | None:
    """The number of partitions that a repartition() above fixed."""
    while not isinstance(node, Repartition):
        if not node.parents:
            return None
        node = node.parents[0]
    return node.partitions


def check_topics(topics: tuple[str, ...], operator: str) -> None:
    """Raise TopologyError if there are none, or one has a name that Kafka refuses."""
    if not topics:
        raise TopologyError(f"{operator}: no topic is given")
    for topic in topics:
        if not _LEGAL_TOPIC.fullmatch(topic) or topic in (".", ".."):
            raise TopologyError(
                f"{operator}: {topic!r} cannot be the name of a topic: letters, digits, dots, underscores and "
                "hyphens are, up to 249"
            )

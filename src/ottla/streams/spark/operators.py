"""The operators of one query as Spark's tasks run them: those of the test driver, with topics and state elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from ottla.streams.driver.message import Message, Origin
from ottla.streams.driver.operator import Operator
from ottla.streams.driver.run import Run
from ottla.streams.driver.topics import Written
from ottla.streams.processors import Headers
from ottla.streams.spark.plan import Plan, Query, is_stateful
from ottla.streams.topology.node import Node
from ottla.streams.topology.processing import Repartition

OLD_VALUE = "ottla.streams.old-value"
"""Header of an internal topic that carries changes of a table: the row before."""


@dataclass(frozen=True)
class Output:
    """A record for a topic."""

    topic: str
    key: bytes | None
    value: bytes | None
    timestamp_ms: int
    headers: Headers


@dataclass(frozen=True)
class Handed:
    """What the operators without state hand to one that has it: by the bytes of its key."""

    key: bytes | None
    node: str
    side: int
    message: Message
    origin: Origin


class QueryRun(Run):
    """Operators of one query. `outputs` are what it has written, `handed` what stateful operators are to get."""

    def __init__(self, plan: Plan, query: Query, *, hands_over: bool) -> None:
        super().__init__(plan.topology, plan.application_id)
        self.plan = plan
        self.query = query
        # Spark gives batches: late is what was late when one began, and an aggregate hands on one change a key.
        self.batching = True
        self.outputs: list[Output] = []
        self.handed: list[Handed] = []
        for internal in plan.topology.repartitions:
            self.operators[internal] = _InternalTopic(internal, self)
        inside = set(query.nodes)
        for node, operator in self.operators.items():
            operator.children = [
                (
                    _HandOver(child.node, self)
                    if hands_over and is_stateful(child.node)
                    else child,
                    side,
                )
                for child, side in self._children(node)
                if child.node in inside
            ]
        self._hands_over = hands_over

    def read(self, origin: Origin) -> None:
        """Handle a record of a topic."""
        self.origin = origin
        for node in self.plan.readers(self.query, origin.topic):
            message = self._read(node, origin)
            if message is None:
                continue
            operator = self.operators[node]
            if isinstance(node, Repartition):
                operator.forward([message])
            elif self._hands_over and is_stateful(node):
                _HandOver(node, self).receive(message)
            else:
                operator.receive(message)

    def _read(self, node: Node, origin: Origin) -> Message | None:
        if isinstance(node, Repartition):
            operator = self.operators[node]
            assert isinstance(operator, _InternalTopic)
            return operator.read(origin)
        return super()._read(node, origin)

    def take_up(self, handed: Handed) -> None:
        """Handle what the operators without state have handed over."""
        self.origin = handed.origin
        node = self.topology.by_name[handed.node]
        self.operators[node].receive(handed.message, handed.side)

    def append(self, topic: str, written: Written) -> None:
        """Keep a record for Spark to write; what reads the topic is in another query, or reads it from there."""
        self.outputs.append(
            Output(topic, written.key, written.value, written.timestamp_ms, written.headers)
        )


class _InternalTopic(Operator[Repartition]):
    """A repartition topic: written by one query, read by another."""

    def handle(self, message: Message, side: int) -> Iterable[Message]:
        node, run = self.node, self.run
        assert isinstance(run, QueryRun)
        if message.key is None and node.drops_null_keys:
            run.dropped(node, "null key")
            return []
        assert node.key_serde is not None
        key = None if message.key is None else node.key_serde.serialize(message.key)
        headers = message.headers
        old = self._bytes(message.old)
        if old is not None:
            headers = (*headers, (OLD_VALUE, old))
        topic = node.topic_name(run.application_id)
        run.outputs.append(
            Output(topic, key, self._bytes(message.value), message.timestamp_ms, headers)
        )
        return []

    def read(self, origin: Origin) -> Message:
        """The message of a record of the topic."""
        serde = self.node.key_serde
        assert serde is not None
        key = None if origin.key is None else serde.deserialize(origin.key)
        old = next((self._value(data) for name, data in origin.headers if name == OLD_VALUE), None)
        headers = tuple(each for each in origin.headers if each[0] != OLD_VALUE)
        return Message(key, self._value(origin.value), origin.timestamp_ms, headers, old)

    def _bytes(self, value: Any) -> bytes | None:
        assert self.node.value_serde is not None
        return None if value is None else self.node.value_serde.serialize(value)

    def _value(self, data: bytes | None) -> Any:
        assert self.node.value_serde is not None
        return None if data is None else self.node.value_serde.deserialize(data)


class _HandOver(Operator[Node]):
    """Stands before a stateful operator: its records go on in the task that has the state of their key."""

    def receive(self, message: Message, side: int = 0) -> None:
        run, node = self.run, self.node
        assert isinstance(run, QueryRun)
        assert run.origin is not None
        parent = node.parents[side] if node.parents else node
        try:
            key = _key_bytes(parent, message.key)
        except Exception as error:
            run.failed(node, error)
            return
        # Of the origin only what dead letters need.
        origin = replace(run.origin)
        run.handed.append(Handed(key, node.name, side, message, origin))


def _key_bytes(node: Node, key: Any) -> bytes | None:
    if key is None:
        return None
    return repr(key).encode() if node.key_serde is None else node.key_serde.serialize(key)

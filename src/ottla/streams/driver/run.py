"""A topology at work in the test driver: its operators, topics and clocks."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ottla.streams.driver.aggregates import (
    RunAggregate,
    RunSessions,
    RunTableAggregate,
    RunWindowed,
)
from ottla.streams.driver.joins import (
    RunStreamGlobalTableJoin,
    RunStreamStreamJoin,
    RunStreamTableJoin,
)
from ottla.streams.driver.message import Message, Origin
from ottla.streams.driver.operator import Operator
from ottla.streams.driver.processing import RunProcess
from ottla.streams.driver.sliding import RunSliding
from ottla.streams.driver.state import State
from ottla.streams.driver.stateless import (
    RunBranch,
    RunFilter,
    RunFlatMap,
    RunFlatMapValues,
    RunMap,
    RunMapValues,
    RunPassing,
    RunPeek,
    RunPrint,
    RunSelectKey,
    RunSplit,
    RunToStream,
)
from ottla.streams.driver.table_joins import RunForeignKeyJoin, RunTableTableJoin
from ottla.streams.driver.tables import (
    RunSuppress,
    RunTable,
    RunTableFilter,
    RunTableGroup,
    RunTableMapValues,
)
from ottla.streams.driver.topics import RunRepartition, RunSink, Written
from ottla.streams.errors import RecordError, StreamsError
from ottla.streams.processors import Headers
from ottla.streams.serdes.by_name import BY_NAME
from ottla.streams.topology import aggregations, joins, processing, sources, stateless
from ottla.streams.topology.node import Node
from ottla.streams.topology.processing import DeadLetters
from ottla.streams.topology.stores import Store
from ottla.streams.topology.topology import Topology
from ottla.streams.windows import SessionWindows, SlidingWindows

_OPERATORS: Mapping[type[Node], type[Operator[Any]]] = {
    sources.StreamSource: RunPassing,
    sources.TableSource: RunTable,
    sources.GlobalTableSource: RunTable,
    stateless.Filter: RunFilter,
    stateless.Map: RunMap,
    stateless.MapValues: RunMapValues,
    stateless.FlatMap: RunFlatMap,
    stateless.FlatMapValues: RunFlatMapValues,
    stateless.SelectKey: RunSelectKey,
    stateless.Split: RunSplit,
    stateless.Branch: RunBranch,
    stateless.Merge: RunPassing,
    stateless.Peek: RunPeek,
    stateless.Foreach: RunPeek,
    stateless.Print: RunPrint,
    stateless.TableFilter: RunTableFilter,
    stateless.TableMapValues: RunTableMapValues,
    stateless.ToStream: RunToStream,
    stateless.ToTable: RunTable,
    aggregations.TableGroup: RunTableGroup,
    aggregations.TableAggregate: RunTableAggregate,
    aggregations.Suppress: RunSuppress,
    joins.StreamStreamJoin: RunStreamStreamJoin,
    joins.StreamTableJoin: RunStreamTableJoin,
    joins.StreamGlobalTableJoin: RunStreamGlobalTableJoin,
    joins.TableTableJoin: RunTableTableJoin,
    joins.ForeignKeyJoin: RunForeignKeyJoin,
    processing.Process: RunProcess,
    processing.Repartition: RunRepartition,
    processing.Sink: RunSink,
}


@dataclass
class _Queue:
    """Records of a topic that wait, and how many there have been."""

    waiting: deque[Origin] = field(default_factory=deque)
    end_offset: int = 0


class Run:
    """Operators by node, and what they share: stores, topics, clocks, the record at hand."""

    def __init__(self, topology: Topology, application_id: str) -> None:
        self.topology = topology
        self.application_id = application_id
        self.now_ms = 0
        self.batching = False
        self.origin: Origin | None = None
        self.states: dict[str, State] = {}
        self.written: dict[str, list[Written]] = {}
        self.drops: dict[str, int] = {}
        self.failures: dict[str, int] = {}
        self._queues: dict[str, _Queue] = {}
        self.operators: dict[Node, Operator[Any]] = {}
        for node in topology.nodes:
            self.operators[node] = _operator_class(node)(node, self)
        for node, operator in self.operators.items():
            operator.children = self._children(node)

    def _children(self, node: Node) -> list[tuple[Operator[Any], int]]:
        return [
            (self.operators[child], side)
            for child in self.topology.children[node]
            for side, parent in enumerate(child.parents)
            if parent is node
        ]

    def state(self, store: Store) -> State:
        """Return the state of a store, which several operators may share."""
        return self.states.setdefault(store.name, State(store))

    def readers(self, topic: str) -> list[Node]:
        """The nodes that read a topic."""
        return [node for node in self.topology.nodes if _reads(node, topic, self.application_id)]

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: Headers,
    ) -> None:
        """Append a record to a topic that the topology reads."""
        queue = self._queues.setdefault(topic, _Queue())
        origin = Origin(topic, 0, queue.end_offset, timestamp_ms, key, value, headers)
        queue.end_offset += 1
        queue.waiting.append(origin)

    def work(self) -> None:
        """Handle all records that wait, in batches or one by one: of several topics, the oldest first."""
        while any(queue.waiting for queue in self._queues.values()):
            if self.batching:
                self._handle_batch()
            else:
                queue = min(
                    (queue for queue in self._queues.values() if queue.waiting),
                    key=lambda queue: queue.waiting[0].timestamp_ms,
                )
                self._handle(queue.waiting.popleft())

    def _handle_batch(self) -> None:
        """All that waits now, as Spark orders it: by the running maximum of the timestamp, then by topic."""
        ordered = []
        for topic, queue in self._queues.items():
            highest = -1
            while queue.waiting:
                origin = queue.waiting.popleft()
                highest = max(highest, origin.timestamp_ms)
                ordered.append((highest, topic, origin.offset, origin))
        for *_, origin in sorted(ordered, key=lambda each: each[:3]):
            self._handle(origin)
        self.origin = None
        for operator in self.operators.values():
            operator.end_batch()

    def _handle(self, origin: Origin) -> None:
        self.origin = origin
        for node in self.readers(origin.topic):
            message = self._read(node, origin)
            if message is None:
                continue
            operator = self.operators[node]
            if isinstance(operator, RunRepartition):
                operator.forward([message])
            else:
                operator.receive(message)

    def _read(self, node: Node, origin: Origin) -> Message | None:
        operator = self.operators[node]
        if isinstance(operator, RunRepartition):
            return operator.read(origin)
        assert node.key_serde is not None
        assert node.value_serde is not None
        try:
            key = None if origin.key is None else node.key_serde.deserialize(origin.key)
            value = None if origin.value is None else node.value_serde.deserialize(origin.value)
            timestamp = origin.timestamp_ms
            extractor = getattr(node, "timestamp_extractor", None)
            if extractor is not None:
                timestamp = extractor(key, value, timestamp)
        except Exception as error:
            self.failed(node, error)
            return None
        if timestamp < 0:
            self.dropped(node, "negative timestamp")
            return None
        return Message(key, value, timestamp, origin.headers)

    def append(self, topic: str, written: Written) -> None:
        """Append what a sink wrote; a topic that the topology reads too is read again."""
        self.written.setdefault(topic, []).append(written)
        if self.readers(topic):
            self.send(topic, written.key, written.value, written.timestamp_ms, written.headers)

    def dropped(self, node: Node, reason: str) -> None:
        """Count a record that an operator leaves out by its rules."""
        name = f"{node.name}: {reason}"
        self.drops[name] = self.drops.get(name, 0) + 1

    def failed(self, node: Node, error: Exception) -> None:
        """Do as the node's `on_error` says: stop, skip the record, or send it to the dead letters."""
        if isinstance(error, RecordError) and error.fatal:
            raise error
        reason = f"{type(error).__name__}: {error}"
        if node.on_error == "fail":
            failure = RecordError(node.name, reason)
            failure.fatal = True
            raise failure from error
        self.failures[node.name] = self.failures.get(node.name, 0) + 1
        if node.on_error == "dead-letter":
            self._bury(node, error, reason)

    def _bury(self, node: Node, error: Exception, reason: str) -> None:
        origin = self.origin
        headers: list[tuple[str, bytes | None]] = [
            (DeadLetters.reason, reason.encode()),
            (DeadLetters.operator, node.name.encode()),
            (DeadLetters.stack, _last_line(error).encode()),
        ]
        if origin is not None:
            headers = [
                *origin.headers,
                *headers,
                (DeadLetters.topic, origin.topic.encode()),
                (DeadLetters.partition, str(origin.partition).encode()),
                (DeadLetters.offset, str(origin.offset).encode()),
            ]
        key, value = (None, None) if origin is None else (origin.key, origin.value)
        timestamp = self.now_ms if origin is None else origin.timestamp_ms
        serde = BY_NAME["bytes"]
        letter = Written(key, value, timestamp, tuple(headers), serde, serde)
        self.append(f"{self.application_id}{DeadLetters.suffix}", letter)


def _operator_class(node: Node) -> type[Operator[Any]]:
    if isinstance(node, aggregations.Aggregate | aggregations.Cogroup):
        if node.windows is None:
            return RunAggregate
        if isinstance(node.windows, SessionWindows):
            return RunSessions
        return RunSliding if isinstance(node.windows, SlidingWindows) else RunWindowed
    if type(node) not in _OPERATORS:
        raise StreamsError(f"the test driver knows no {type(node).__name__}")
    return _OPERATORS[type(node)]


def _reads(node: Node, topic: str, application_id: str) -> bool:
    if isinstance(node, sources.StreamSource):
        return topic in node.topics or node.matches(topic)
    if isinstance(node, sources.TableSource | sources.GlobalTableSource):
        return node.topic == topic
    return isinstance(node, processing.Repartition) and node.topic_name(application_id) == topic


def _last_line(error: Exception) -> str:
    """Where it was raised: the last line of the stack."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return ""
    code = trace.tb_frame.f_code
    return f"{code.co_filename}:{trace.tb_lineno} in {code.co_name}"

"""Pure: nodes that run a processor of the user's own, and sinks and internal topics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from ottla.streams.serdes.serde import Serde
from ottla.streams.topology.functions import Function
from ottla.streams.topology.node import Flow, Node
from ottla.streams.topology.stores import Store


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Process(Node):
    """Runs a `Processor` (see `ottla.streams.processors`) made by supplier(), one for each partition.

    process(record) may read and change the stores, forward any number of records with any key and timestamp,
    and set timers. A store is read and written for the current record's key, or the timer's: there are no
    stores across keys. With `values_only` the forwarded records must keep their key.
    """

    supplier: Callable[[], Any]
    state: tuple[Store, ...] = ()
    values_only: bool = False

    @property
    def stores(self) -> tuple[Store, ...]:
        return self.state


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Repartition(Node):
    """Sends records through the internal topic `<application-id>-<topic>-repartition`, by their key.

    What is below reads that topic: its records come with their timestamps and headers, ordered by offset. Of
    streams, records with null keys are dropped, unless a left or outer join of a stream is anywhere below: it
    joins them with nothing (`drops_null_keys`, known once the topology is built).
    Behind a `TableGroup` the records are changes: what to add and what to subtract.
    """

    topic: str
    sink_name: str
    source_name: str
    filter_name: str | None = None
    drops_null_keys: bool = True
    partitions: int | None = None
    carries: Flow = "stream"

    flow: ClassVar[Flow] = "stream"

    def topic_name(self, application_id: str) -> str:
        """The internal topic, in full."""
        return f"{application_id}-{self.topic}-repartition"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Sink(Node):
    """Writes records to a topic, with their timestamp and headers; nothing follows.

    `topic` is a name or is computed for each record by a function (key, value) or an expression; None for a
    record drops it. `partitioner` (topic, key, value, partitions) returns a partition, or None for the
    default: by the hash of the key's bytes, as Kafka's clients do.
    What the serdes cannot write is an error of this node.
    """

    topic: str | Function
    key_out: Serde
    value_out: Serde
    partitioner: Callable[[str, Any, Any, int], int | None] | None = None


@dataclass(frozen=True)
class DeadLetters:
    """Where `on_error="dead-letter"` sends records: the bytes as read, the topic's own headers and these."""

    suffix: ClassVar[Literal["-dead-letters"]] = "-dead-letters"
    reason: ClassVar[str] = "ottla.error.reason"
    operator: ClassVar[str] = "ottla.error.operator"
    stack: ClassVar[str] = "ottla.error.stack"
    topic: ClassVar[str] = "ottla.origin.topic"
    partition: ClassVar[str] = "ottla.origin.partition"
    offset: ClassVar[str] = "ottla.origin.offset"

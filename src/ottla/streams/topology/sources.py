"""Pure: nodes that read topics."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from ottla.streams.topology.node import Flow, Node
from ottla.streams.topology.stores import Store

TimestampExtractor = Callable[[Any, Any, int], int]
"""Called with (key, value, the record's timestamp); returns milliseconds. Below 0: the record is dropped."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class StreamSource(Node):
    """KStream of one or more topics (or of all whose names match `pattern`).

    Records with a null key or value come as they are. What a serde cannot read is an error of this node.
    Timestamps are the records', unless `timestamp_extractor` says otherwise; negative ones drop the record.
    """

    topics: tuple[str, ...]
    pattern: str | None = None
    offset_reset: Literal["earliest", "latest"] = "earliest"
    timestamp_extractor: TimestampExtractor | None = None

    @property
    def reads(self) -> tuple[str, ...]:
        """Its topics by name, or its pattern."""
        return self.topics if self.pattern is None else (self.pattern,)

    def matches(self, topic: str) -> bool:
        """True if it reads topics by a pattern, and this is one of them."""
        return self.pattern is not None and re.fullmatch(self.pattern, topic) is not None


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class TableSource(Node):
    """KTable of one compacted topic: the last record of a key, by offset, is its value.

    A null value deletes the key; records with a null key are dropped. A record that is older by timestamp
    than the one before is applied all the same, as Kafka does with unversioned stores. Every record is handed
    on as a change from the value before, also one that changes nothing (a deletion of what was not there too).
    """

    flow: ClassVar[Flow] = "table"
    topic: str
    source_name: str
    """The name of the physical source, KSTREAM-SOURCE-..., before this node's KTABLE-SOURCE-..."""
    store: Store
    offset_reset: Literal["earliest", "latest"] = "earliest"
    timestamp_extractor: TimestampExtractor | None = None

    @property
    def reads(self) -> tuple[str, ...]:
        """Its topic."""
        return (self.topic,)

    @property
    def stores(self) -> tuple[Store, ...]:
        return (self.store,)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class GlobalTableSource(Node):
    """GlobalKTable: all partitions of one topic, whole in each worker; null values delete, null keys are dropped.

    It is read to its end before the application starts. A join sees the table as it is when the stream's
    record is handled: it is not synchronised with the stream by time.
    """

    flow: ClassVar[Flow] = "table"
    topic: str
    source_name: str
    store: Store

    @property
    def reads(self) -> tuple[str, ...]:
        """Its topic."""
        return (self.topic,)

    @property
    def stores(self) -> tuple[Store, ...]:
        return (self.store,)

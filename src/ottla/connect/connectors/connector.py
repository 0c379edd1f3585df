"""What a connector is: a source tells what there is and reads it, a sink stages what it is given and commits it.

The worker runs each as one Spark streaming query. `latest`, `open` and `commit` run in the driver; `read` and `stage`
run in tasks, in other processes and perhaps on other machines: both get the settings, and nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from ottla.connect.data.record import Record
from ottla.connect.options.table import Options

Partition = dict[str, Any]
"""What a source is made of, such as {"filename": "/var/log/app"}: JSON, as it stands in the offsets topic."""
Offset = dict[str, Any]
"""How far a partition was read, such as {"position": 4096}: JSON."""


class Connector(ABC):
    """A connector with its settings."""

    options: ClassVar[Options]
    version: ClassVar[str] = "1"

    def __init__(self, settings: Mapping[str, str | None]) -> None:
        self.settings: dict[str, Any] = self.options.parse(settings)

    def topics(self) -> Sequence[str]:
        """Return the topics that the configuration names, as far as it does."""
        return ()


class Source(Connector):
    """Brings records into topics."""

    @abstractmethod
    def partitions(self) -> Sequence[Partition]:
        """Return what there is to read, now."""

    @abstractmethod
    def latest(self, partition: Partition, offset: Offset | None) -> Offset | None:
        """Return how far one batch is to read a partition that was read up to an offset; None if nothing is new."""

    @abstractmethod
    def read(self, partition: Partition, start: Offset | None, end: Offset) -> Iterator[Record]:
        """Read a partition from one offset to another: the same records, whenever it is called."""


class Range(NamedTuple):
    """Records of one partition of a topic, from an offset up to, not including, another."""

    topic: str
    partition: int
    start: int
    end: int


class Part(NamedTuple):
    """What a task has staged: the records it was given, and how the sink finds what it made of them."""

    covered: Range
    receipt: Any


class Sink(Connector):
    """Takes records out of topics."""

    @abstractmethod
    def open(self) -> Mapping[tuple[str, int], int]:
        """Prepare for a new run; return the next offset of each partition that the other system knows of."""

    @abstractmethod
    def stage(self, topic: str, partition: int, start: int, records: Iterator[Record]) -> Any:
        """Take what a task has of a partition, from an offset on, so that nobody sees it yet.

        Returns what `commit` needs to find it again; it must be JSON.
        """

    @abstractmethod
    def commit(self, parts: Sequence[Part]) -> None:
        """Make the parts of one batch count, all of them; called again for the same parts if the answer was lost."""

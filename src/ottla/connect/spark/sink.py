"""`format("ottla-connect-sink")`: a sink connector as a streaming sink of Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamArrowWriter,
    DataSourceStreamWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from ottla.client.producer import Producer
from ottla.connect.connectors.connector import Part, Range, Sink
from ottla.connect.plugins import connector_class
from ottla.connect.spark.rows import Incoming, Row, Taken, settings_of

if TYPE_CHECKING:
    import pyarrow as pa


class SinkFormat(DataSource):
    """What Spark finds behind the name."""

    @classmethod
    def name(cls) -> str:
        """The word for `format`."""
        return "ottla-connect-sink"

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802
        """For df.writeStream."""
        return SinkWriter(dict(self.options))


@dataclass
class Staged(WriterCommitMessage):
    """What a task has staged."""

    parts: list[Part]


class SinkWriter(DataSourceStreamArrowWriter):
    """Stages in tasks, commits in the driver."""

    def __init__(self, options: dict[str, str]) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Staged:
        """Give the connector what this task has, partition by partition."""
        connector, settings = self._open()
        letters = DeadLetters(json.loads(self._options["client"]))
        incoming = Incoming(settings, self._options["connector"], letters.send)
        parts = []
        for (topic, partition), rows in groupby(_rows(iterator), key=itemgetter(0, 1)):
            parts.append(_stage(connector, incoming, topic, partition, rows))
        letters.close()
        return Staged(parts)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Make all that was staged count."""
        connector, _ = self._open()
        connector.commit([p for m in messages if isinstance(m, Staged) for p in m.parts])

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Leave what was staged: the next run drops it when it begins."""

    def _open(self) -> tuple[Sink, dict[str, Any]]:
        settings = settings_of(self._options["config"])
        made = connector_class(settings["connector.class"])(settings)
        assert isinstance(made, Sink)
        return made, settings


class DeadLetters:
    """Sends records that fail to their topic, before the batch counts: one that is repeated sends them again."""

    def __init__(self, client: dict[str, str]) -> None:
        self._client = client
        self._producer: Producer | None = None

    def send(self, row: Row) -> None:
        """Send one."""
        if self._producer is None:
            self._producer = Producer(self._client)
        self._producer.send(row.topic, row.value, row.key, headers=row.headers)

    def close(self) -> None:
        """Return when all are written."""
        if self._producer is not None:
            self._producer.flush()
            self._producer.close()


def _rows(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[Any, ...]]:
    names = ("topic", "partition", "offset", "timestamp", "key", "value", "headers")
    for batch in batches:
        yield from zip(*(_column(batch, name) for name in names), strict=True)


def _column(batch: pa.RecordBatch, name: str) -> list[Any]:
    import pyarrow as pa

    column = batch.column(name)
    if name == "timestamp":
        column = column.cast(pa.timestamp("ms", column.type.tz), safe=False).cast(pa.int64())
    found: list[Any] = column.to_pylist()
    return found


def _stage(
    connector: Sink,
    incoming: Incoming,
    topic: str,
    partition: int,
    rows: Iterator[tuple[Any, ...]],
) -> Part:
    first = next(rows)
    start, last = first[2], [first[2]]

    def taken() -> Iterator[Taken]:
        for row in chain((first,), rows):
            last[0] = row[2]
            headers = [(each["key"], each["value"]) for each in row[6] or ()]
            yield Taken(row[2], row[3], row[4], row[5], headers)

    records = incoming.records(topic, partition, taken())
    receipt = connector.stage(topic, partition, start, records)
    for _ in records:
        raise AssertionError(f"{type(connector).__name__} did not take all of its records")
    return Part(Range(topic, partition, start, last[0] + 1), receipt)

"""`format("ottla-connect-source")`: a source connector as a streaming source of Spark.

The offsets of a batch are rows of the batch: they go to the offsets topic in the transaction of its records.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import BinaryType, IntegerType, StringType, StructField, StructType

from ottla.connect.connectors.connector import Offset, Partition, Source
from ottla.connect.plugins import connector_class
from ottla.connect.spark.rows import Outgoing, Row, settings_of
from ottla.connect.worker.formats import offset_entry
from ottla.pipeline.schema import HEADERS

if TYPE_CHECKING:
    import pyarrow as pa

_SCHEMA: Final = StructType(
    [
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        StructField("headers", HEADERS),
    ]
)
_ROWS_PER_BATCH: Final = 10_000


class SourceFormat(DataSource):
    """What Spark finds behind the name."""

    @classmethod
    def name(cls) -> str:
        """The word for `format`."""
        return "ottla-connect-source"

    def schema(self) -> StructType:
        """Rows as `format("ottla")` writes them."""
        return _SCHEMA

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """For spark.readStream."""
        return SourceReader(dict(self.options))


class Piece(InputPartition):
    """What one task reads."""

    def __init__(self, partition: Partition, start: Offset | None, end: Offset) -> None:
        super().__init__(0)
        self.partition, self.start, self.end = partition, start, end


class SourceReader(DataSourceStreamReader):
    """Asks the connector how far there is something to read."""

    def __init__(self, options: dict[str, str]) -> None:
        self._options = options
        self._made: Source | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Where the last run of the connector ended, on whatever machine that was."""
        known = json.loads(self._options["offsets"])
        return {_text(partition): _sorted(offset) for partition, offset in known}

    def latestOffset(self, start: dict[str, Any], limit: object) -> dict[str, Any]:  # noqa: N802
        """How far the next batch reads."""
        connector = self._connector()
        found = dict(start)
        for partition in connector.partitions():
            name = _text(partition)
            latest = connector.latest(partition, start.get(name))
            if latest is not None:
                found[name] = _sorted(latest)
        return dict(sorted(found.items()))

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[Piece]:
        """One piece for each partition of the source that has something new."""
        return [
            Piece(json.loads(name), start.get(name), offset)
            for name, offset in end.items()
            if offset != start.get(name)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a piece, and behind them its offset."""
        assert isinstance(partition, Piece)
        settings, name = settings_of(self._options["config"]), self._options["connector"]
        records = self._connector().read(partition.partition, partition.start, partition.end)
        rows = Outgoing(settings, name).rows(records)
        while batch := list(islice(rows, _ROWS_PER_BATCH)):
            yield _arrow(batch)
        entry = offset_entry(name, partition.partition, partition.end)
        yield _arrow([Row(self._options["offsets.topic"], None, entry.key, entry.value, [])])

    def _connector(self) -> Source:
        if self._made is None:
            settings = settings_of(self._options["config"])
            made = connector_class(settings["connector.class"])(settings)
            assert isinstance(made, Source)
            self._made = made
        return self._made

    def __getstate__(self) -> dict[str, Any]:
        # A reader travels to the tasks; what it has opened stays.
        return self.__dict__ | {"_made": None}


def _text(partition: Partition) -> str:
    return json.dumps(partition, sort_keys=True, separators=(",", ":"))


def _sorted(offset: Offset) -> Offset:
    # Spark compares offsets as text.
    return dict(sorted(offset.items()))


def _arrow(rows: list[Row]) -> pa.RecordBatch:
    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_schema

    schema = to_arrow_schema(_SCHEMA, timezone="UTC")
    topics, partitions, keys, values, headers = zip(*rows, strict=True)
    pairs = [[{"key": k, "value": v} for k, v in each] for each in headers]
    columns = (topics, partitions, keys, values, pairs)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)

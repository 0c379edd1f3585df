"""Streams that tests start, and what they read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.clients import produce
from tests.support.waiting import wait_for

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

WITHIN_S = 60.0


class Streams:
    """Queries over one broker that collect what they read; they end with the test."""

    def __init__(self, spark: SparkSession, bootstrap: str, directory: Path) -> None:
        self.spark, self.bootstrap, self.directory = spark, bootstrap, directory
        self.checkpoint = directory / "checkpoint"
        self.values: list[bytes] = []
        self.batches: dict[int, int] = {}
        self.tasks: dict[int, int] = {}
        self.queries: list[StreamingQuery] = []

    def start(self, trigger: dict[str, Any] | None = None, **options: str) -> StreamingQuery:
        reader = self.spark.readStream.format("ottla").options(**options)
        frame = reader.option("kafka.bootstrap.servers", self.bootstrap).load()
        writer = frame.writeStream.option("checkpointLocation", str(self.checkpoint))
        query = writer.foreachBatch(self._collect).trigger(
            **(trigger or {"processingTime": "0 seconds"})
        )
        self.queries.append(query.start())
        return self.queries[-1]

    def run(self, **options: str) -> StreamingQuery:
        """All there is now, in as many batches as the options ask for."""
        query = self.start({"availableNow": True}, **options)
        assert query.awaitTermination(WITHIN_S)
        return query

    def begin_anew(self) -> None:
        """The next query is a new one."""
        self.checkpoint = self.directory / f"checkpoint-{len(self.queries)}"
        for known in (self.values, self.batches, self.tasks):
            known.clear()

    def saw(self, count: int) -> list[bytes]:
        wait_for(lambda: len(self.values) >= count, f"{count} records", WITHIN_S)
        return sorted(self.values)

    def failure(self, query: StreamingQuery) -> str:
        wait_for(lambda: not query.isActive, "the query to fail", WITHIN_S)
        error = query.exception()
        assert error is not None
        return str(error)

    def _collect(self, frame: DataFrame, batch: int) -> None:
        found = [bytes(row.value) for row in frame.select("value").collect()]
        self.tasks[batch] = frame.rdd.getNumPartitions()
        self.values += found
        self.batches[batch] = len(found)


def numbers(begin: int, end: int) -> list[bytes]:
    return [b"%04d" % n for n in range(begin, end)]


def fill(bootstrap: str, topic: str, values: list[bytes], partitions: int = 1) -> None:
    records = [{"value": v, "partition": n % partitions} for n, v in enumerate(values)]
    produce(bootstrap, topic, records)

"""Starts and stops the queries of connectors.

Every call blocks, so the worker makes them in threads: `warm`, `start_source` and `start_sink` in `starter`, since
Spark looks a data source up in the session that its thread has made, and finds nothing in any other thread.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ottla.pipeline import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamReader

_SETTINGS: Final = {
    "spark.ui.enabled": "false",
    "spark.scheduler.mode": "FAIR",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.stopTimeout": "10s",
}
# The last line of a Python traceback in what Spark says of a failure.
_RAISED: Final = re.compile(r"^(?:\w+\.)*(\w+): (.+)$", re.MULTILINE)
_OURS: Final = re.compile(r"^ottla\.(?:\w+\.)*(\w+): (.+)$", re.MULTILINE)


class Queries:
    """The Spark session of a worker, made when the first connector needs it."""

    def __init__(self, client: Mapping[str, str], master: str, interval_ms: int) -> None:
        self._client = dict(client)
        self._master = master
        self._interval = f"{interval_ms} milliseconds"
        self._spark: SparkSession | None = None
        self.starter = ThreadPoolExecutor(1, "start connectors")
        self._directory = Path(tempfile.mkdtemp(prefix="ottla-connect-"))
        self._runs = 0

    def start_source(
        self,
        name: str,
        config: Mapping[str, str],
        sink_id: str,
        offsets: Sequence[tuple[dict[str, Any], dict[str, Any]]],
        offsets_topic: str,
    ) -> StreamingQuery:
        """Start a source connector where its offsets say."""
        from ottla.connect.spark.source import SourceFormat

        spark = self._session()
        frame = spark.readStream.format(SourceFormat.name()).options(
            **{
                "connector": name,
                "config": json.dumps(dict(config)),
                "offsets": json.dumps(list(offsets)),
                "offsets.topic": offsets_topic,
            }
        )
        options = {**self._kafka(), "sinkId": sink_id}
        return self._start(name, frame, "ottla", options)

    def start_sink(
        self,
        name: str,
        config: Mapping[str, str],
        subscription: Mapping[str, str],
        positions: Mapping[str, Mapping[str, int]],
        group: str,
    ) -> StreamingQuery:
        """Start a sink connector at positions by topic and partition; -2 is the beginning."""
        from ottla.connect.spark.sink import SinkFormat

        spark = self._session()
        frame = spark.readStream.format("ottla").options(
            **{
                **self._kafka(),
                **subscription,
                "startingOffsets": json.dumps(positions) if positions else "earliest",
                "includeHeaders": "true",
                "failOnDataLoss": "false",
                "kafka.group.id": group,
                # What a source has written and not committed may yet be taken back.
                "kafka.isolation.level": config.get(
                    "consumer.override.isolation.level", "read_committed"
                ),
            }
        )
        options = {
            "connector": name,
            "config": json.dumps(dict(config)),
            "client": json.dumps(self._client),
        }
        return self._start(name, frame, SinkFormat.name(), options)

    def stop(self, query: StreamingQuery) -> None:
        """Stop a query after the batch that it is in."""
        query.stop()
        checkpoint = self._directory / (query.name or "")
        shutil.rmtree(checkpoint, ignore_errors=True)

    def close(self) -> None:
        """Stop everything."""
        self.starter.shutdown(cancel_futures=True)
        if self._spark is not None:
            for query in self._spark.streams.active:
                query.stop()
            self._spark.stop()
        shutil.rmtree(self._directory, ignore_errors=True)

    def warm(self) -> None:
        """Start Spark before the first connector needs it."""
        self._session()

    def _session(self) -> SparkSession:
        if self._spark is None:
            self._spark = session(
                "ottla-connect", master=self._master, settings=_SETTINGS, progress=False
            )
            _register(self._spark)
            # What fails is told in the status of its connector.
            self._spark.sparkContext.setLogLevel("ERROR")
        return self._spark

    def _kafka(self) -> dict[str, str]:
        return {f"kafka.{name}": value for name, value in self._client.items()}

    def _start(
        self, name: str, reader: DataStreamReader, sink: str, options: Mapping[str, str]
    ) -> StreamingQuery:
        self._runs += 1
        run = f"connect-{re.sub('[^A-Za-z0-9_.-]', '_', name)}-{self._runs}"
        # Disposable: where a connector goes on is said by topics, for its next owner may be another machine.
        checkpoint = self._directory / run
        writer = reader.load().writeStream.format(sink).queryName(run).options(**options)
        writer = writer.option("checkpointLocation", str(checkpoint))
        return writer.trigger(processingTime=self._interval).start()


def _register(spark: SparkSession) -> None:
    from ottla.connect.spark.sink import SinkFormat
    from ottla.connect.spark.source import SourceFormat

    spark.dataSource.register(SourceFormat)
    spark.dataSource.register(SinkFormat)


def failure_of(query: StreamingQuery) -> tuple[str, str] | None:
    """Return why a query has ended, as a sentence and as the whole story; None if it runs or was stopped."""
    failed = query.exception()
    if failed is None:
        return None
    return sentence(str(failed)), str(failed)


def sentence(story: str) -> str:
    """Return the sentence of what was raised in Python, out of Spark's story of it."""
    found = _OURS.findall(story) or _RAISED.findall(story)
    if not found:
        return story.strip().split("\n")[0][:500]
    kind, text = found[-1]
    return str(text) if _OURS.search(story) else f"{kind}: {text}"

"""A stream of the lines of files into a topic: what is written to the files is what it is given."""

import asyncio
import json
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from ottla.client.cluster import TRANSACTION, Cluster
from ottla.client.settings import client_settings
from ottla.protocol.apis.describe_sinks import DescribeSinksRequest
from ottla.protocol.schema import Request
from tests.support.clients import consume, create_topic

TIMEOUT_S = 120


class LinesJob:
    """Lines of files into a topic, with one checkpoint for all its runs."""

    def __init__(self, spark: SparkSession, bootstrap: str, directory: Path) -> None:
        self.spark = spark
        self.bootstrap = bootstrap
        self.topic = create_topic(bootstrap, partitions=2)
        self.files = directory / "in"
        self.files.mkdir()
        self.checkpoint = directory / "checkpoint"
        self.options = {"kafka.bootstrap.servers": bootstrap, "topic": self.topic}

    def given(self, *lines: str) -> None:
        name = f"{len(list(self.files.iterdir())):04}.txt"
        (self.files / name).write_text("".join(f"{line}\n" for line in lines))

    def lines(self) -> DataFrame:
        return self.spark.readStream.option("maxFilesPerTrigger", 1).text(str(self.files))

    def run(
        self,
        frame: DataFrame | None = None,
        mode: str = "append",
        provider: str = "ottla",
        **options: str,
    ) -> None:
        writer = (self.lines() if frame is None else frame).writeStream.format(provider)
        writer = writer.outputMode(mode).options(**self.options, **options)
        self.finish(writer.option("checkpointLocation", str(self.checkpoint)))

    def finish(self, writer: object) -> None:
        query = writer.trigger(availableNow=True).start()  # type: ignore[attr-defined]
        try:
            assert query.awaitTermination(TIMEOUT_S), "the stream did not end"
        finally:
            query.stop()

    def written(self, topic: str | None = None) -> list[str]:
        found = [
            message.value().decode()
            for partition in range(2)
            for message in consume(
                self.bootstrap, topic or self.topic, partition, isolation_level="read_committed"
            )
        ]
        return sorted(found)

    def forget_commit(self, batch: int) -> None:
        """As if the driver had died between the sink's commit and Spark's own."""
        for name in (f"{batch}", f".{batch}.crc"):
            (self.checkpoint / "commits" / name).unlink(missing_ok=True)

    @property
    def query_id(self) -> str:
        found: str = json.loads((self.checkpoint / "metadata").read_text())["id"]
        return found

    def committed_batch(self, sink_id: str | None = None) -> int:
        name = sink_id or self.query_id
        found: int = self._described(name).committed_batch
        return found

    def open_slots(self) -> int:
        return len(self._described(self.query_id).slots)

    def _described(self, name: str) -> Any:
        return asked(self.bootstrap, name, DescribeSinksRequest(sink_ids=[name])).sinks[0]


def asked(bootstrap: str, sink_id: str, request: Request) -> Any:
    """What the coordinator of a sink answers."""

    async def ask() -> Any:
        async with Cluster(client_settings({"bootstrap.servers": bootstrap})) as cluster:
            return await cluster.ask_coordinator(sink_id, request, kind=TRANSACTION)

    return asyncio.run(ask())

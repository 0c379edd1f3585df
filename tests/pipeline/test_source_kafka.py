"""The source on Apache Kafka: it reads what Kafka serves, and leaves its offsets in Kafka's groups."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.pipeline.topics import committed
from tests.support.clients import create_topic, produce, unique_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.java


def test_a_batch_and_a_stream(kafka: str, spark: SparkSession, tmp_path: Path) -> None:
    topic, group = create_topic(kafka, partitions=2), unique_name("group")
    values = [b"%03d" % n for n in range(100)]
    records = [{"value": value, "partition": n % 2} for n, value in enumerate(values)]
    produce(kafka, topic, records, compression_type="zstd")
    options = {"kafka.bootstrap.servers": kafka, "subscribe": topic, "kafka.group.id": group}
    rows = spark.read.format("ottla").options(**options).load().collect()
    assert sorted(bytes(row.value) for row in rows) == values

    seen: list[bytes] = []

    def collect(frame: DataFrame, batch: int) -> None:
        seen.extend(bytes(row.value) for row in frame.collect())

    stream = spark.readStream.format("ottla").options(**options, startingOffsets="earliest").load()
    writer = stream.writeStream.option("checkpointLocation", str(tmp_path)).foreachBatch(collect)
    assert writer.trigger(availableNow=True).start().awaitTermination(120)
    assert sorted(seen) == values
    assert committed(kafka, group) == {(topic, 0): 50, (topic, 1): 50}

"""What `kafka-consumer-groups --describe` shows of a stream: lag 0, two seconds after it has come to rest."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.broker import OTTLA
from tests.support.clients import create_topic, produce, unique_name
from tests.support.waiting import wait_for

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.java

PROMISED_S = 2.0
WITHIN_S = 60


def described(bootstrap: str, group: str) -> dict[tuple[str, int], dict[str, int]]:
    """CURRENT-OFFSET and LAG of each partition."""
    command = [str(OTTLA.with_name("kafka-consumer-groups")), "--bootstrap-server", bootstrap]
    done = subprocess.run(
        [*command, "--describe", "--group", group],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    head, *lines = [line.split() for line in done.stdout.splitlines() if line.strip()]
    rows = [dict(zip(head, line, strict=False)) for line in lines]
    return {
        (row["TOPIC"], int(row["PARTITION"])): {
            "current": int(row["CURRENT-OFFSET"]),
            "lag": int(row["LAG"]),
        }
        for row in rows
    }


class Reader:
    """A stream over a topic that remembers when its last batch ended, and how much it has read."""

    def __init__(self, spark: SparkSession, bootstrap: str, checkpoint: Path) -> None:
        self.topic, self.group = create_topic(bootstrap, partitions=2), unique_name("group")
        self.bootstrap = bootstrap
        self.count = 0
        self.ended_at = 0.0
        options = {"kafka.bootstrap.servers": bootstrap, "kafka.group.id": self.group}
        reader = spark.readStream.format("ottla").options(startingOffsets="earliest", **options)
        writer = reader.option("subscribe", self.topic).load().writeStream
        self.writer = writer.option("checkpointLocation", str(checkpoint)).foreachBatch(self._batch)

    def give(self, count: int) -> None:
        records = [{"value": b"%d" % n, "partition": n % 2} for n in range(count)]
        produce(self.bootstrap, self.topic, records)

    def expected(self, each: int) -> dict[tuple[str, int], dict[str, int]]:
        return {(self.topic, partition): {"current": each, "lag": 0} for partition in range(2)}

    def _batch(self, frame: DataFrame, batch: int) -> None:
        self.count += frame.count()
        self.ended_at = time.monotonic()


@pytest.fixture
def reader(spark: SparkSession, bootstrap: str, tmp_path: Path) -> Reader:
    return Reader(spark, bootstrap, tmp_path)


def test_two_seconds_after_a_stream_has_come_to_rest(reader: Reader) -> None:
    query = reader.writer.start()
    try:
        for total in (10, 20):
            reader.give(10)
            wait_for(lambda wanted=total: reader.count == wanted, "the records", WITHIN_S)  # type: ignore[misc]
            wait_for(lambda: time.monotonic() > reader.ended_at + PROMISED_S, "two seconds")
            assert described(reader.bootstrap, reader.group) == reader.expected(total // 2)
    finally:
        query.stop()


def test_as_soon_as_all_that_was_available_is_read(reader: Reader) -> None:
    reader.give(10)
    query = reader.writer.trigger(availableNow=True).start()
    assert query.awaitTermination(WITHIN_S)
    assert described(reader.bootstrap, reader.group) == reader.expected(5)

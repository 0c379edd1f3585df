"""A long batch read shows how far it is."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ottla.pipeline.batch_progress import BatchProgress
from tests.support.clients import create_topic, produce
from tests.support.waiting import wait_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.java


def test_lines_tell_how_many_records_were_read(
    spark: SparkSession, bootstrap: str, tmp_path: Path
) -> None:
    topic, held, out = create_topic(bootstrap, partitions=3), str(tmp_path / "go"), io.StringIO()
    records = [{"value": b"%d" % n, "partition": n % 3} for n in range(30)]
    produce(bootstrap, topic, records)

    def last_waits(part: int, rows: Iterator[Any]) -> Iterator[Any]:
        read = list(rows)
        while part == 2 and not Path(held).exists():
            time.sleep(0.01)
        return iter(read)

    options = {"kafka.bootstrap.servers": bootstrap, "subscribe": topic}
    frame = spark.read.format("ottla").options(**options).load()
    work = threading.Thread(target=frame.rdd.mapPartitionsWithIndex(last_waits).count)
    progress = BatchProgress(spark, out, look_s=0.05, line_every_s=0)
    work.start()
    try:
        # Two tasks have ended, and what they have read is counted.
        wait_for(lambda: "\n20 records read, " in out.getvalue(), "progress", 60)
    finally:
        Path(held).touch()
        work.join(60)
        progress.close()
    assert not work.is_alive()

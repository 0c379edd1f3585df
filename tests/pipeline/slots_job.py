"""The driver of a stream that writes exactly once to Apache Kafka, as a process that a test can kill.

Its argument is a JSON object: the directory of files to read, the options of the sink, and how many slots there are.
"""

import json
import sys
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

QUIET = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1"}


def writer(lines: DataFrame, task: dict[str, Any]) -> DataStreamWriter:
    """Lines into as many tasks as there are slots, each line always into the same."""
    parts = lines.repartition(task["slots"], "value")
    return parts.writeStream.format("ottla").options(**task["sink"])


def main() -> None:
    """Write what is there."""
    from ottla import pipeline

    task = json.loads(sys.argv[1])
    spark: SparkSession = pipeline.session("slots", master="local[2]", settings=QUIET)
    lines = spark.readStream.option("maxFilesPerTrigger", 1).text(task["files"])
    writer(lines, task).trigger(availableNow=True).start().awaitTermination()


if __name__ == "__main__":
    main()

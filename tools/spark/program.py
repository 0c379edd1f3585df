"""A Spark session that does what lines on standard input ask for, with one connector; it runs under any pyspark.

The first argument is a JSON object: the connector's `format`, the `master`, and `conf` for the session. Each line is a
task, `{"do": NAME, ...}`; the answer is one line of JSON, with `error` where it failed. It imports pyspark alone.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming import StreamingQuery

Task = dict[str, Any]
INPUT = "key binary, value binary, headers array<struct<key: string, value: binary>>, topic string, partition int"
ERROR_CHARS = 6000


class Program:
    """The session, the connector that it reads and writes with, and the query that runs, if one does."""

    def __init__(self, setup: Task) -> None:
        builder = SparkSession.builder.master(setup["master"]).appName("ottla")
        for name, value in setup["conf"].items():
            builder = builder.config(name, value)
        self.spark = builder.getOrCreate()
        self.spark.sparkContext.setLogLevel("WARN")
        self.format = setup["format"]
        self.query: StreamingQuery | None = None

    def _frame(self, task: Task) -> DataFrame:
        return self.spark.read.format(self.format).options(**task["options"]).load()

    def _stream(self, task: Task) -> DataFrame:
        return self.spark.readStream.format(self.format).options(**task["options"]).load()

    def read(self, task: Task) -> Task:
        """All rows, in order."""
        frame = self._frame(task)
        return {"schema": frame.schema.simpleString(), "rows": rows(frame)}

    def drain(self, task: Task) -> Task:
        """Reads everything, every column, and keeps nothing."""
        began = time.monotonic()
        self._frame(task).write.format("noop").mode("overwrite").save()
        return {"seconds": time.monotonic() - began}

    def copy(self, task: Task) -> Task:
        """Reads everything and writes it back."""
        began = time.monotonic()
        pairs = self._frame(task).select("key", "value")
        pairs.write.format(self.format).options(**task["sink"]).mode("append").save()
        return {"seconds": time.monotonic() - began}

    def write(self, task: Task) -> Task:
        """Writes the given rows; bytes are given as text, a column that is not named is not there."""
        given = [
            (
                data(row.get("key")),
                data(row.get("value")),
                [(name, data(value)) for name, value in row.get("headers", [])],
                row.get("topic"),
                row.get("partition"),
            )
            for row in task["rows"]
        ]
        frame = self.spark.createDataFrame(given, INPUT).select(*task["columns"])
        frame.write.format(self.format).options(**task["sink"]).mode("append").save()
        return {}

    def stream(self, task: Task) -> Task:
        """Streams what is there into Parquet files and returns all rows of those, and of which batches they are."""
        places = {"path": task["path"], "checkpointLocation": task["checkpoint"]}
        writer = self._stream(task).writeStream.format("parquet").options(**places)
        batches = run_to_end(writer.trigger(availableNow=True).start())
        return {"rows": rows(self.spark.read.parquet(task["path"])), "batches": batches}

    def stream_copy(self, task: Task) -> Task:
        """Streams what is there into another topic."""
        began = time.monotonic()
        writer = self._stream(task).select("key", "value").writeStream.format(self.format)
        query = writer.options(**task["sink"]).trigger(availableNow=True).start()
        batches = run_to_end(query)
        return {"batches": batches, "seconds": time.monotonic() - began}

    def start(self, task: Task) -> Task:
        """Starts copying from topic to topic, batch after batch as fast as they come."""
        writer = self._stream(task).select("key", "value").writeStream.format(self.format)
        self.query = writer.options(**task["sink"]).start()
        return {}

    def progress(self, task: Task) -> Task:
        """What Spark says of the running query's last batch."""
        if self.query is None:
            raise RuntimeError("no query runs")
        if failure := self.query.exception():
            raise RuntimeError(str(failure))
        last = self.query.lastProgress
        return {"progress": json.loads(last.json) if hasattr(last, "json") else last}

    def stop(self, task: Task) -> Task:
        """Ends the running query."""
        if self.query is not None:
            self.query.stop()
        return {}


def run_to_end(query: StreamingQuery) -> int:
    """Waits for a query that ends by itself; the number of its batches."""
    query.awaitTermination()
    return len(
        {progress["batchId"] for progress in query.recentProgress if progress["numInputRows"]}
    )


def data(text: str | None) -> bytes | None:
    """The bytes that a text stands for."""
    return None if text is None else text.encode("latin-1")


def rows(frame: DataFrame) -> list[list[Any]]:
    """Rows in the order of their offsets; bytes in hexadecimal, timestamps in microseconds."""
    columns = [
        f.hex("key"), f.hex("value"), f.col("topic"), f.col("partition"), f.col("offset"),
        f.unix_micros("timestamp"), f.col("timestampType"),
    ]  # fmt: skip
    if "headers" in frame.columns:
        columns.append(
            f.transform("headers", lambda header: f.array(header.key, f.hex(header.value)))
        )
    return [
        list(row)
        for row in frame.orderBy("topic", "partition", "offset").select(*columns).collect()
    ]


def answered(work: Callable[[Task], Task], task: Task) -> Task:
    """What the work answers, or why it failed."""
    try:
        return work(task)
    except Exception as failure:
        return {"error": f"{type(failure).__name__}: {failure}"[:ERROR_CHARS]}


def main() -> None:
    """Answers one line after the other until there are no more."""
    # What the JVM and its loggers print goes to stderr: stdout is for the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    program = Program(json.loads(sys.argv[1]))
    print("{}", file=answers, flush=True)
    for line in sys.stdin:
        task = json.loads(line)
        print(json.dumps(answered(getattr(program, task["do"]), task)), file=answers, flush=True)
    program.spark.stop()


if __name__ == "__main__":
    main()

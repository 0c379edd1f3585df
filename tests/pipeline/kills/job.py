"""`python -m tests.pipeline.kills.job '{...}'`: the stream that is killed, and begins again where it was."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, concat_ws, substring_index

from ottla import pipeline
from tests.pipeline.kills.mutants import MUTANTS

COPY = "copy"
COUNT = "count"
FRAMES = "frames"
KINDS = (COPY, COUNT, FRAMES)
EVEN, ODD = "-even", "-odd"

QUICK_FAILURES = {
    "spark.task.maxFailures": "100",
    "spark.deploy.maxExecutorRetries": "-1",
    "spark.executor.maxNumFailures": "1000",
    "spark.stage.maxConsecutiveAttempts": "100",
    "spark.python.unix.domain.socket.enabled": "false",
}
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "50ms",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.quantile": "0.3",
    "spark.speculation.minTaskRuntime": "200ms",
}


@dataclass(frozen=True)
class Job:
    """What a driver is told."""

    bootstrap: str
    source: str
    sink: str
    checkpoint: str
    kind: str = COPY
    master: str = "local[2]"
    rows_per_batch: int = 200
    sink_timeout: str = "15m"
    format: str = "ottla"

    def argument(self) -> str:
        """The job as the one argument of this program."""
        return json.dumps(asdict(self))


def main(argument: str) -> None:
    """Run the job until its input is used up."""
    job = Job(**json.loads(argument))
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.host": "127.0.0.1",
        "spark.log.level": "ERROR",
        **QUICK_FAILURES,
    }
    if not job.master.startswith("local["):
        settings |= SPECULATION
    spark = pipeline.session("kills", master=job.master, settings=settings)
    if job.format in MUTANTS:
        spark.dataSource.register(MUTANTS[job.format])
    query = started(spark, job)
    query.awaitTermination()
    spark.stop()


def started(spark: SparkSession, job: Job) -> object:
    """The running stream of one kind."""
    rows = (
        spark.readStream.format("ottla")
        .option("kafka.bootstrap.servers", job.bootstrap)
        .option("subscribe", job.source)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", job.rows_per_batch)
        .load()
        .select(col("value").cast("string"))
    )
    options = {
        "kafka.bootstrap.servers": job.bootstrap,
        "checkpointLocation": job.checkpoint,
        "sinkTimeout": job.sink_timeout,
        "topic": job.sink,
    }
    if job.kind == COPY:
        written = rows.repartition(3).select(col("value").alias("key"), "value")
        writer = written.writeStream.format(job.format).options(**options)
    elif job.kind == COUNT:
        writer = pipeline.write_stream(counted(rows), options, output_mode="update")
    else:
        writer = pipeline.write_stream(rows, options, lambda batch: branches(batch, job.sink))
    return writer.trigger(availableNow=True).start()


def counted(rows: DataFrame) -> DataFrame:
    """How many rows each group has had so far, by the letters in front of a row's number."""
    counts = rows.groupBy(substring_index("value", "-", 1).alias("key")).count()
    return counts.select("key", concat_ws("=", "key", "count").alias("value"))


def branches(batch: DataFrame, sink: str) -> dict[str, DataFrame]:
    """Rows with even and with odd numbers, each to a topic of their own."""
    number = substring_index("value", "-", -1).cast("long")
    return {sink + EVEN: batch.where(number % 2 == 0), sink + ODD: batch.where(number % 2 == 1)}


if __name__ == "__main__":
    main(sys.argv[1])

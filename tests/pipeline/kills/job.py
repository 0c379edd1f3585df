"""`python -m tests.pipeline.kills.job '{...}'`: streams that are killed, and begin again where they were."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, concat_ws, substring_index

from ottla import pipeline
from tests.pipeline.kills.application import (
    COPY,
    COUNT,
    EVEN,
    JVM,
    ODD,
    Application,
    Job,
)
from tests.pipeline.kills.mutants import MUTANTS

MOST_FAILURES = 100
POLL_S = 0.05

QUICK_FAILURES = {
    "spark.task.maxFailures": "100",
    "spark.deploy.maxExecutorRetries": "-1",
    "spark.executor.maxNumFailures": "1000",
    "spark.stage.maxConsecutiveAttempts": "100",
}
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "50ms",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.quantile": "0.3",
    "spark.speculation.minTaskRuntime": "200ms",
}


def main(argument: str) -> None:
    """Run all streams until their input is used up."""
    application = Application.read(argument)
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.host": "127.0.0.1",
        "spark.log.level": "ERROR",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.streaming.pollingDelay": "200ms",
        "spark.sql.streaming.minBatchesToRetain": "100",
        "spark.driver.extraJavaOptions": JVM,
        "spark.executor.extraJavaOptions": JVM,
        "spark.executor.memory": "1g",
        "spark.python.daemon.module": "tests.pipeline.kills.daemon",
        "spark.python.authenticate.socketTimeout": "60s",
        **QUICK_FAILURES,
    }
    if not application.master.startswith("local["):
        settings |= SPECULATION
    spark = pipeline.session("kills", master=application.master, settings=settings)
    for mutant in MUTANTS.values():
        spark.dataSource.register(mutant)
    running = {job: _started(spark, application, job) for job in application.jobs}
    failures = 0
    while running:
        for job, query in list(running.items()):
            if query.isActive and not application.over.exists():
                continue
            try:
                query.processAllAvailable()
                query.stop()
                del running[job]
            except StreamingQueryException as error:
                failures += 1
                reason = str(error).strip().splitlines()
                print(f"{job.sink} begins anew: {reason[:1]} ... {reason[-6:]}", flush=True)
                running[job] = _started(spark, application, job)
        assert failures < MOST_FAILURES, "the jobs fail again and again"
        time.sleep(POLL_S)
    spark.stop()


def _started(spark: SparkSession, application: Application, job: Job) -> Any:
    """The running stream of one kind."""
    rows = (
        spark.readStream.format("ottla")
        .option("kafka.bootstrap.servers", application.bootstrap)
        .option("subscribe", application.source)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", application.rows_per_batch)
        .option("publishProgress", "false")
        .load()
        .select(col("value").cast("string"))
    )
    options = {
        "kafka.bootstrap.servers": application.bootstrap,
        "checkpointLocation": str(Path(application.directory, "checkpoints", job.sink)),
        "sinkTimeout": application.sink_timeout,
        "sinkId": job.sink,
        "topic": job.sink,
    }
    if job.kind == COPY:
        written = rows.repartition(3).select(col("value").alias("key"), "value")
        writer = written.writeStream.format(job.format).options(**options)
    elif job.kind == COUNT:
        writer = pipeline.write_stream(counted(rows), options, output_mode="update")
    else:
        writer = pipeline.write_stream(rows, options, lambda batch: branches(batch, job.sink))
    query = writer.start()
    # Spark gives the Python of a source ten seconds to come up: not all of them at once.
    while query.isActive and query.status["message"] == "Initializing sources":
        time.sleep(POLL_S)
    return query


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

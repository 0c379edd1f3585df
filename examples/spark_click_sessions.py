"""Sessions of a click stream: clicks in one topic, visits in another, and in a third what was no click.

    python examples/spark_click_sessions.py --from clicks --to visits --refused clicks-refused --checkpoint /tmp/visits

A click is JSON, {"user": "u1", "page": "/tea", "at": "2026-11-16T10:00:00Z"}. A visit ends when its user has been
quiet for half an hour; it is written once, when no click that belongs to it can come any more: clicks may be ten
minutes late.

What is no click goes to a topic of its own, with a header that says where it was, instead of being lost or stopping the
job.
"""

import argparse
import sys

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming import StreamingQuery

from ottla import OttlaError
from ottla.pipeline import session

CLICK = "user string, page string, at timestamp"
QUIET = "30 minutes"
LATE = "10 minutes"


def parsed(records: DataFrame) -> DataFrame:
    """Records with their click beside them, which is null or lacks something where they are none."""
    return records.withColumn("click", f.from_json(f.col("value").cast("string"), CLICK))


def visits(records: DataFrame) -> DataFrame:
    """One record for each visit that has ended, under its user's key."""
    clicks = parsed(records).select("click.*").where("user is not null and at is not null")
    by_visit = clicks.withWatermark("at", LATE).groupBy(f.session_window("at", QUIET), "user")
    ended = by_visit.agg(f.count("*").alias("clicks"), f.collect_set("page").alias("pages"))
    visit = f.struct(
        "user",
        f.col("session_window.start").alias("from"),
        f.col("session_window.end").alias("to"),
        "clicks",
        f.array_sort("pages").alias("pages"),
    )
    return ended.select(f.col("user").alias("key"), f.to_json(visit).alias("value"))


def refused(records: DataFrame) -> DataFrame:
    """What is no click, as it came, and where it came from."""
    place = f.concat_ws("/", "topic", "partition", "offset").cast("binary")
    header = f.struct(f.lit("refused").alias("key"), place.alias("value"))
    bad = parsed(records).where("click.user is null or click.at is null")
    return bad.select("key", "value", f.array(header).alias("headers"))


def start(spark: SparkSession, chosen: argparse.Namespace) -> list[StreamingQuery]:
    """Start both queries: visits, and what was refused."""
    cluster = {"kafka.bootstrap.servers": chosen.bootstrap_server}
    reading = {**cluster, "subscribe": chosen.source, "startingOffsets": "earliest"}
    queries = []
    for name, found, topic in (
        ("visits", visits, chosen.target),
        ("refused", refused, chosen.refused),
    ):
        # Both read the same topic: in a group of its own each shows its own lag.
        group = {"kafka.group.id": f"{chosen.source}-{name}"}
        records = spark.readStream.format("ottla").options(**reading, **group).load()
        writer = found(records).writeStream.format("ottla").options(**cluster, topic=topic)
        writer = writer.option("checkpointLocation", f"{chosen.checkpoint}/{name}")
        queries.append((writer.trigger(availableNow=True) if chosen.once else writer).start())
    return queries


def main() -> int:
    options = argparse.ArgumentParser(description="Visits out of clicks.")
    options.add_argument("--bootstrap-server", default="localhost:9092")
    options.add_argument("--from", dest="source", default="clicks", metavar="TOPIC")
    options.add_argument("--to", dest="target", default="visits", metavar="TOPIC")
    options.add_argument("--refused", default="clicks-refused", metavar="TOPIC")
    options.add_argument("--checkpoint", required=True, help="a directory of this job's own")
    options.add_argument("--once", action="store_true", help="take what is there, and end")
    chosen = options.parse_args()
    try:
        # Times are written as UTC, wherever the job runs.
        settings = {"spark.sql.session.timeZone": "UTC", "spark.sql.shuffle.partitions": "4"}
        for query in start(session("click sessions", settings=settings), chosen):
            query.awaitTermination()
    except OttlaError as error:
        print(f"spark_click_sessions: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())

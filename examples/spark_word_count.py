"""A word count: lines of text in one topic, how often each word came in another.

    python examples/spark_word_count.py --from lines --to counts --checkpoint /tmp/word-count

The word is the record's key, so a compacted topic keeps the last count of each. Kill it anywhere and start it again:
the counts go on from where they were, and a reader of committed records never sees one twice.

Counts change with every batch, and only those that did are written: Spark calls that update mode, which a sink in
Python cannot have by itself; `write_stream` can.
"""

import argparse
import sys

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming import StreamingQuery

from ottla import OttlaError
from ottla.pipeline import session, write_stream


def counts(lines: DataFrame) -> DataFrame:
    """How often each word came so far, as records: the word and its count."""
    words = lines.select(
        f.explode(f.split(f.lower(f.col("value").cast("string")), r"\W+")).alias("word")
    )
    counted = words.where("word <> ''").groupBy("word").count()
    return counted.select(f.col("word").alias("key"), f.col("count").cast("string").alias("value"))


def start(spark: SparkSession, chosen: argparse.Namespace) -> StreamingQuery:
    """Start counting; with --once, what is there now and no more."""
    cluster = {"kafka.bootstrap.servers": chosen.bootstrap_server}
    reader = spark.readStream.format("ottla").options(**cluster, startingOffsets="earliest")
    lines = reader.option("subscribe", chosen.source).load()
    sink = {**cluster, "topic": chosen.target, "checkpointLocation": chosen.checkpoint}
    writer = write_stream(counts(lines), sink, output_mode="update")
    return (writer.trigger(availableNow=True) if chosen.once else writer).start()


def main() -> int:
    options = argparse.ArgumentParser(description="How often each word comes in a topic.")
    options.add_argument("--bootstrap-server", default="localhost:9092")
    options.add_argument("--from", dest="source", default="lines", metavar="TOPIC")
    options.add_argument("--to", dest="target", default="counts", metavar="TOPIC")
    options.add_argument("--checkpoint", required=True, help="a directory of this job's own")
    options.add_argument("--once", action="store_true", help="count what is there, and end")
    chosen = options.parse_args()
    try:
        # What is counted is kept for each of so many parts; more of them than cores only cost.
        spark = session("word count", settings={"spark.sql.shuffle.partitions": "4"})
        start(spark, chosen).awaitTermination()
    except OttlaError as error:
        print(f"spark_word_count: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""A topic into Parquet files, a folder for each day.

    python examples/spark_to_parquet.py --from orders --to /data/orders --checkpoint /data/orders.checkpoint

Run it from a timer: each run takes what has come since the last, in batches of at most a million records, and ends.
The checkpoint says how far it came and the folder `_spark_metadata` which files count, so whoever reads the result with
Spark finds every record once, whatever was killed. `ottla groups lag orders-to-parquet` shows how far it is behind.
"""

import argparse
import sys

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming import StreamingQuery

from ottla import OttlaError
from ottla.pipeline import session


def columns(records: DataFrame) -> DataFrame:
    """Key and value as text, where each record was, and the day that it is filed under."""
    return records.select(
        f.col("key").cast("string").alias("key"),
        f.col("value").cast("string").alias("value"),
        "partition",
        "offset",
        "timestamp",
        f.to_date("timestamp").alias("day"),
    )


def start(spark: SparkSession, chosen: argparse.Namespace) -> StreamingQuery:
    """Start a run, which ends with what is there now."""
    reader = spark.readStream.format("ottla").options(
        **{
            "kafka.bootstrap.servers": chosen.bootstrap_server,
            "kafka.group.id": f"{chosen.source}-to-parquet",
            "subscribe": chosen.source,
            "startingOffsets": "earliest",
            "maxOffsetsPerTrigger": "1000000",
        }
    )
    writer = columns(reader.load()).writeStream.format("parquet").partitionBy("day")
    places = {"path": chosen.target, "checkpointLocation": chosen.checkpoint}
    return writer.options(**places).trigger(availableNow=True).start()


def main() -> int:
    options = argparse.ArgumentParser(description="What has come to a topic, into Parquet files.")
    options.add_argument("--bootstrap-server", default="localhost:9092")
    options.add_argument("--from", dest="source", default="orders", metavar="TOPIC")
    options.add_argument("--to", dest="target", required=True, help="a directory")
    options.add_argument("--checkpoint", required=True, help="a directory of this job's own")
    chosen = options.parse_args()
    try:
        spark = session("to parquet", settings={"spark.sql.session.timeZone": "UTC"})
        query = start(spark, chosen)
        query.awaitTermination()
    except OttlaError as error:
        print(f"spark_to_parquet: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    rows = sum(progress["numInputRows"] for progress in query.recentProgress)
    print(f"{rows} records written")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The frame of a query: topics in, what its operators make of the records, records for topics out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ottla.pipeline.sink_digest import local_reader
from ottla.pipeline.writing_stream import write_stream
from ottla.streams.spark.first_stage import READ, first_stage
from ottla.streams.spark.keyed_stage import KeyedStage
from ottla.streams.spark.plan import Plan, Query
from ottla.streams.spark.rows import HANDED, WRITTEN

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_AS_READ = {
    "timestamp_ms": "unix_millis(timestamp) timestamp_ms",
}
_TO_WRITE = ("topic", "key", "value", "headers", "timestamp_millis(timestamp_ms) timestamp")


def frame_of(
    spark: SparkSession, plan: Plan, query: Query, options: Mapping[str, str]
) -> DataFrame:
    """Return what a query writes; `options` are those of its source."""
    subscribed = (
        {"subscribePattern": query.pattern}
        if query.pattern is not None
        else {"subscribe": ",".join(query.topics)}
    )
    records = (
        spark.readStream.format("ottla")
        .options(
            **options,
            **subscribed,
            startingOffsets=query.offset_reset,
            includeHeaders="true",
        )
        .load()
        .selectExpr(*(_AS_READ.get(name, name) for name in READ))
    )
    stage = first_stage(plan, query)
    if not query.is_stateful:
        return records.mapInArrow(stage, WRITTEN).selectExpr(*_TO_WRITE)
    handed = records.mapInArrow(stage, HANDED)
    # Time moves by what the operators with state are given, whatever topic it comes from: none of them holds it back.
    timed = handed.selectExpr("*", "timestamp_millis(event_ms) event_time").withWatermark(
        "event_time", "0 seconds"
    )
    # Without the column that has the watermark, Spark drops nothing as late: that is for the operators to judge.
    keyed = timed.select(*HANDED.names).groupBy("key")
    worked = keyed.transformWithState(
        statefulProcessor=KeyedStage(plan, query),
        outputStructType=WRITTEN,
        outputMode="append",
        timeMode="eventTime",
    )
    return worked.selectExpr(*_TO_WRITE)


def written(frame: DataFrame, options: Mapping[str, str]) -> DataStreamWriter:
    """Return the writer of a query, which is to be started."""
    with_times = {**options, "includeTimestamp": "true"}
    if local_reader(options["checkpointLocation"]) is not None:
        return frame.writeStream.format("ottla").options(**with_times)
    # What only Spark can read is read in its driver (see ottla.pipeline.sink_digest).
    return write_stream(frame, with_times)

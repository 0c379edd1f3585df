"""The options that the sources and the sink of a streaming query were given, read out of Spark's plan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from py4j.protocol import Py4JError  # type: ignore[import-untyped]

from ottla.pipeline.options import PipelineOptions
from ottla.pipeline.sink_options import read_sink_options
from ottla.pipeline.source_options import read_source_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FORMAT: Final = "ottla"


def execution_of(spark: SparkSession, query_id: str) -> Any:
    """What runs a query, to be asked for its options also when it has ended; None if it has ended already."""
    query = spark.streams.get(query_id)
    return None if query is None else query._jsq.streamingQuery()


def options_of(spark: SparkSession, execution: Any) -> list[PipelineOptions]:
    """The options of each format("ottla") in a query; the sink's once it has begun to write.

    Spark has no public way to them: where a version of it hides them, there are none.
    """
    try:
        return [*_of_sources(execution), *_of_sink(spark, execution)]
    except Py4JError:
        return []


def _of_sources(execution: Any) -> Iterator[PipelineOptions]:
    leaves = execution.analyzedPlan().collectLeaves()
    for number in range(leaves.size()):
        leaf = leaves.apply(number)
        if _is(leaf, "StreamingRelationV2") and leaf.sourceName() == _FORMAT:
            yield read_source_options(dict(leaf.extraOptions()))


def _of_sink(spark: SparkSession, execution: Any) -> Iterator[PipelineOptions]:
    sink = execution.sink()
    # Before the first batch only the query's own thread may ask for this plan.
    if not (_is(sink, "PythonTable") and sink.name() == _FORMAT and execution.lastProgress()):
        return
    plan = execution.logicalPlan()
    if _is(plan, "WriteToMicroBatchDataSource"):
        assert spark._jvm is not None
        converters = spark._jvm.scala.jdk.javaapi.CollectionConverters
        yield read_sink_options(dict(converters.asJava(plan.writeOptions())), streaming=True)


def _is(thing: Any, name: str) -> bool:
    found: bool = thing.getClass().getSimpleName() == name
    return found

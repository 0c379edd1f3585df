"""The checkpoint of a running query as its driver reads it: through Spark, wherever it is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from py4j.protocol import Py4JError  # type: ignore[import-untyped]

from ottla.base.errors import OttlaError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ottla.pipeline.sink_digest import Read


def checkpoint_of(spark: SparkSession, query_id: str) -> str:
    """Return where a running query keeps its checkpoint, also if that comes from Spark's settings.

    `spark` is the session that started the query, not the copy of it that a batch's frame has.
    """
    query = spark.streams.get(query_id)
    if query is None:
        raise OttlaError(f"the query {query_id} is not one that runs in this session")
    root: str = query._jsq.streamingQuery().resolvedCheckpointRoot()
    return root


def spark_reader(spark: SparkSession, checkpoint: str) -> Read:
    """Return how to read a checkpoint through Hadoop's file systems, as Spark itself does."""
    jvm, configuration = spark._jvm, spark._jsc.hadoopConfiguration()
    assert jvm is not None

    def read(name: str) -> str | None:
        path = jvm.org.apache.hadoop.fs.Path(checkpoint, name)
        try:
            stream = path.getFileSystem(configuration).open(path)
            try:
                text: str = jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8")
            finally:
                stream.close()
        except Py4JError:
            return None
        return text

    return read

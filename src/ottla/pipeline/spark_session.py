"""`session()`: a SparkSession with everything set that reading and writing ottla profits from."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from ottla.pipeline.requirements import require_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS: Final = {
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
}
"""Filters reach the source, and rows reach the sink in large Arrow batches."""

_publishing: Final[set[tuple[str, str]]] = set()


def session(
    app_name: str = "ottla",
    *,
    master: str | None = None,
    settings: Mapping[str, str] | None = None,
    publish_to: str | None = None,
) -> SparkSession:
    """The SparkSession of this process, made at the first call; `settings` are Spark's own.

    With `publish_to`, HOST:PORT of a broker, the progress of streaming queries is published there, in the
    topic `__ottla_pipelines`. SparkUnavailable says what to install where Java or PySpark is missing or
    too old.
    """
    require_spark()
    from pyspark.sql import SparkSession

    # Workers must be this Python, with the packages that are installed here.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(app_name)
    if master is not None:
        builder = builder.master(master)
    for name, value in {**SETTINGS, **(settings or {})}.items():
        builder = builder.config(name, value)
    made: SparkSession = builder.getOrCreate()
    if publish_to is not None:
        _publish(made, publish_to)
    return made


def _publish(spark: SparkSession, bootstrap_servers: str) -> None:
    from ottla.pipeline.progress import ProgressPublisher

    key = (spark.sparkContext.applicationId, bootstrap_servers)
    if key not in _publishing:
        _publishing.add(key)
        spark.streams.addListener(ProgressPublisher(bootstrap_servers))

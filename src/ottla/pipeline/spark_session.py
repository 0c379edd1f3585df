"""`session()`: a SparkSession with everything set that reading and writing ottla profits from."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from ottla.pipeline.requirements import require_spark
from ottla.pipeline.session_end import interrupt_quietly, interrupts_held, stop_at_exit
from ottla.pipeline.worker_python import python_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ottla.pipeline.batch_progress import BatchProgress
    from ottla.pipeline.progress import ProgressPublisher

SETTINGS: Final = {
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.execution.arrow.maxBytesPerBatch": "4m",
    # A seventh faster for reads of 1 KB than TCP between the JVM and its Python workers.
    "spark.python.unix.domain.socket.enabled": str(hasattr(socket, "AF_UNIX")).lower(),
}
"""Filters reach the source; rows reach the sink in Arrow batches that are large, yet fit a cache."""

_publishers: Final[dict[str, ProgressPublisher | None]] = {}
_drawn: Final[dict[str, BatchProgress]] = {}
"""Of each Spark application: who publishes its progress, if anybody does, and who draws it."""


def session(
    app_name: str = "ottla",
    *,
    master: str | None = None,
    settings: Mapping[str, str] | None = None,
    publish: bool = True,
    publish_to: str | None = None,
    progress: bool | None = None,
) -> SparkSession:
    """The SparkSession of this process, made at the first call; `settings` are Spark's own.

    The progress of streaming queries is published in the topic `__ottla_pipelines` of the cluster that they read or
    write, or of `publish_to`, HOST:PORT of a broker, unless `publish` is false. `progress` shows how far
    batch jobs are, a bar on a terminal and lines elsewhere; unless set, on a terminal. SparkUnavailable says what to
    install where Java or PySpark is missing or too old.
    """
    require_spark()
    from pyspark.sql import SparkSession

    from ottla.pipeline import batch_progress

    shown = batch_progress.is_wanted(progress)
    own = {**SETTINGS, **(batch_progress.SETTINGS if shown else {})}
    # Workers must be this Python, with the packages that are installed here.
    chosen = (settings or {}).get("spark.master", master)
    os.environ.setdefault("PYSPARK_PYTHON", python_for(chosen, os.environ))
    builder = SparkSession.builder.appName(app_name)
    if master is not None:
        builder = builder.master(master)
    for name, value in {**own, **(settings or {})}.items():
        builder = builder.config(name, value)
    with interrupts_held():
        made: SparkSession = builder.getOrCreate()
    equip(made, publish=publish, publish_to=publish_to, progress=shown)
    interrupt_quietly(made)
    return made


def equip(
    spark: SparkSession,
    *,
    publish: bool = True,
    publish_to: str | None = None,
    progress: bool = False,
) -> None:
    """Give a session that is there already what `session` gives, but for settings of Spark; the last word counts."""
    from ottla.pipeline.batch_progress import BatchProgress

    application = spark.sparkContext.applicationId
    _publish(spark, application, publish, publish_to)
    if progress and application not in _drawn:
        _drawn[application] = BatchProgress(spark)
    elif not progress and application in _drawn:
        _drawn.pop(application).close()


def _publish(spark: SparkSession, application: str, publish: bool, publish_to: str | None) -> None:
    from ottla.pipeline.progress import ProgressPublisher
    from ottla.pipeline.progress_topic import tell_for_sources

    before = _publishers.get(application)
    if application not in _publishers:
        tell_for_sources()
        stop_at_exit(spark, lambda: _remove_publisher(spark, application))
    elif before is not None and publish and publish_to in (None, before.bootstrap_servers):
        return
    _remove_publisher(spark, application)
    made = _publishers[application] = ProgressPublisher(spark, publish_to) if publish else None
    if made is not None:
        spark.streams.addListener(made)


def _remove_publisher(spark: SparkSession, application: str) -> None:
    publisher = _publishers.get(application)
    if publisher is not None:
        spark.streams.removeListener(publisher)

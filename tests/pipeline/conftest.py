"""Spark sessions for the tests: starting one costs seconds, so all tests share it."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.pipeline.streams import Streams
from tests.support.requirements import requires
from tools.java import SHORT_LIVED
from tools.spark_program import SparkProgram

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


JVM = {"spark.driver.extraJavaOptions": " ".join(SHORT_LIVED)}


@pytest.fixture(scope="session", autouse=True)
def _drivers_are_short_lived() -> Iterator[None]:
    """Programs that tests start set no options of the JVM; Spark takes them from here."""
    short = " ".join(SHORT_LIVED)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SPARK_SUBMIT_OPTS", short)
        patched.setenv("SPARK_LAUNCHER_OPTS", short)
        yield


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SparkSession]":
    """Spark as `ottla.pipeline.session` opens it, with two threads."""
    requires("java")
    from ottla import pipeline

    session = pipeline.session(
        "tests",
        master="local[2]",
        settings={
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
            "spark.driver.host": "127.0.0.1",
            **JVM,
        },
    )
    yield session
    session.stop()


@pytest.fixture
def streams(spark: "SparkSession", bootstrap: str, tmp_path: Path) -> Iterator[Streams]:
    """Streams over the session's broker."""
    made = Streams(spark, bootstrap, tmp_path)
    yield made
    for query in made.queries:
        query.stop()


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an Apache Kafka broker."""
    requires("java", "maven")
    from tools.apache_kafka import ApacheKafka

    with ApacheKafka(
        tmp_path_factory.mktemp("kafka") / "data", heap_mb=256, jvm_options=SHORT_LIVED
    ) as broker:
        yield broker.bootstrap


@pytest.fixture(scope="session")
def jvm_spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkProgram]:
    """Spark 4.0 with its own Kafka connector, in a process and an environment of its own."""
    requires("java", "maven")
    from tools import spark_jvm

    with spark_jvm.program(tmp_path_factory.mktemp("jvm-spark") / "spark.log", JVM) as program:
        yield program

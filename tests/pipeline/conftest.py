"""Spark sessions for the tests: starting one costs seconds, so all tests share it."""

from collections.abc import Iterator

import pytest

from tests.support.requirements import requires
from tools.spark_program import SparkProgram


@pytest.fixture(scope="session")
def jvm_spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkProgram]:
    """Spark 4.0 with its own Kafka connector, in a process and an environment of its own."""
    requires("java", "maven")
    from tools import spark_jvm

    with spark_jvm.program(tmp_path_factory.mktemp("jvm-spark") / "spark.log") as program:
        yield program

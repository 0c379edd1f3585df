"""One Spark session for the tests of stream applications."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.streams.spark.both_ways import BothWays
from tests.support.requirements import requires
from tools.java import SHORT_LIVED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def streams_spark(tmp_path_factory: pytest.TempPathFactory) -> "SparkSession":
    """Spark as applications open it."""
    requires("java")
    from ottla import pipeline
    from ottla.streams.spark.session import SETTINGS

    opened = pipeline.session(
        "streams-tests",
        master="local[2]",
        settings={
            **SETTINGS,
            "spark.ui.enabled": "false",
            "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
            "spark.driver.host": "127.0.0.1",
            "spark.driver.extraJavaOptions": " ".join(SHORT_LIVED),
        },
    )
    # Other tests of the process may have opened it before: what streams need is set in a session beside theirs.
    own = opened.newSession()
    for name, value in SETTINGS.items():
        own.conf.set(name, value)
    return own


@pytest.fixture
def both_ways(
    streams_spark: "SparkSession", bootstrap: str, tmp_path: Path, ottla_only: None
) -> Iterator[BothWays]:
    """A topology in the test driver and on Spark, with the same input."""
    made = BothWays(streams_spark, bootstrap, tmp_path)
    yield made
    made.close()

"""A program that reads a topic with Spark and ends prints its own words, and no traceback of Spark's workers."""

import subprocess
import sys

import pytest

from tests.support.clients import create_topic, produce

pytestmark = pytest.mark.java

PROGRAM = """
import sys
from ottla.pipeline import session

spark = session(master="local[2]", settings={"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1"})
options = {"kafka.bootstrap.servers": sys.argv[1], "subscribe": sys.argv[2]}
print(spark.read.format("ottla").options(**options).load().count())
spark.stop()
"""


def test_nothing_is_printed_of_workers_that_spark_lets_go_of(bootstrap: str) -> None:
    topic = create_topic(bootstrap, partitions=2)
    produce(bootstrap, topic, [{"value": b"%d" % n, "partition": n % 2} for n in range(10)])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, bootstrap, topic],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout.split() == ["10"]
    assert "Traceback" not in done.stderr, done.stderr

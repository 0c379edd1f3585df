"""What a person is told who asks format("ottla") for something it cannot do."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.clients import unique_name
from tests.support.requirements import requires

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.compat, pytest.mark.java]


def frame(spark: SparkSession, bootstrap: str, **options: str) -> DataFrame:
    reader = spark.read.format("ottla").option("kafka.bootstrap.servers", bootstrap)
    return reader.options(**options).load()


def test_a_misspelt_option(spark: SparkSession, bootstrap: str, topic: str) -> None:
    with pytest.raises(Exception, match=r"startingofsets: .* did you mean startingOffsets"):
        frame(spark, bootstrap, subscribe=topic, startingOfsets="earliest")


def test_no_broker(spark: SparkSession) -> None:
    with pytest.raises(
        Exception, match=r"nothing listens on localhost:1; check that the broker runs"
    ):
        frame(spark, "localhost:1", subscribe="t").count()


def test_no_such_topic(spark: SparkSession, bootstrap: str) -> None:
    name = unique_name("missing")
    with pytest.raises(Exception, match=f"there is no topic {name} at {bootstrap}; create it"):
        frame(spark, bootstrap, subscribe=name).count()


def test_no_such_partition(spark: SparkSession, bootstrap: str, topic: str) -> None:
    with pytest.raises(Exception, match=f"there is no partition {topic}-7"):
        frame(spark, bootstrap, assign=json.dumps({topic: [0, 7]})).count()


def test_offsets_for_some_partitions_only(spark: SparkSession, bootstrap: str, topic: str) -> None:
    strangers = json.dumps({topic: {"0": 0, "5": 0}})
    with pytest.raises(Exception, match=f"{topic}-5, which is not subscribed to"):
        frame(spark, bootstrap, subscribe=topic, startingOffsets=strangers).count()
    with pytest.raises(Exception, match="must name every partition"):
        frame(spark, bootstrap, subscribe=topic, startingOffsets="{}").count()


def test_columns_of_ones_own(spark: SparkSession, bootstrap: str, topic: str) -> None:
    reader = spark.read.format("ottla").option("kafka.bootstrap.servers", bootstrap)
    with pytest.raises(Exception, match=r"columns of format.* are fixed"):
        reader.option("subscribe", topic).schema("value string").load().count()


def test_a_java_keystore(spark: SparkSession, bootstrap: str) -> None:
    with pytest.raises(Exception, match="keytool -importkeystore"):
        frame(spark, bootstrap, subscribe="t", **{"kafka.ssl.keystore.location": "/k.jks"})


def test_a_pyspark_that_is_too_old() -> None:
    requires("java", "maven")
    from tools import spark_jvm

    [packages] = spark_jvm.python().parents[1].glob("lib/python*/site-packages")
    read = "DefaultSource({'kafka.bootstrap.servers': 'localhost:9092', 'subscribe': 't'}).schema()"
    done = subprocess.run(
        [sys.executable, "-c", f"from pyspark_ottla import DefaultSource; {read}"],
        env={"PYTHONPATH": str(packages)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "pyspark 4.0.0 is too old, 4.2 is the first" in done.stderr

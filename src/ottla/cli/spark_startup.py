"""Runs in the shell that `ottla spark shell` opens, behind pyspark's own beginning: what is there beside `spark`."""

from __future__ import annotations

import json
import os
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from ottla.pipeline.spark_session import equip

cluster: dict[str, str] = json.loads(os.environ["OTTLA_SPARK_CLUSTER"])


def topic(name: str, **options: Any) -> DataFrame:
    """All records of a topic; options are those of format("ottla")."""
    reader = SparkSession.active().read.format("ottla")
    return reader.options(**cluster, subscribe=name, **options).load()


def stream(name: str, **options: Any) -> DataFrame:
    """The records of a topic as they come; options are those of format("ottla")."""
    reader = SparkSession.active().readStream.format("ottla")
    return reader.options(**cluster, subscribe=name, **options).load()


equip(SparkSession.active(), progress=True)
print(f"""
ottla is at {cluster["kafka.bootstrap.servers"]}:
  topic("orders").selectExpr("cast(value as string)", "offset").show()
  stream("orders", startingOffsets="earliest").writeStream.format("console").start()
  frame.write.format("ottla").options(**cluster, topic="copies").mode("append").save()
""")

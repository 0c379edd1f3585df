"""The contestants of the Spark part: ottla with its own connector, and Apache Kafka with Spark's.

So that the connectors can be compared on one broker too, Spark's has a broker of ottla beside Apache Kafka.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.contestants import Contestant, Kafka, Ottla
from ottla.pipeline.spark_session import SETTINGS
from tools import spark_jvm
from tools.spark_program import SparkProgram


class SparkOttla(Ottla):
    """ottla, and a Spark session with its connector."""

    def __init__(self, data_dir: Path) -> None:
        super().__init__(data_dir)
        self.spark = SparkProgram("ottla", data_dir / "spark.log", SETTINGS)

    @property
    def on_ottla(self) -> Contestant:
        """The broker of ottla that the connector can be measured on."""
        return self

    def launch(self) -> None:
        """Starts the broker, then the session."""
        super().launch()
        self.spark.__enter__()

    def stop(self) -> None:
        """Stops the session, then the broker."""
        self.spark.kill()
        super().stop()


class SparkKafka(Kafka):
    """Apache Kafka, a Spark session with Spark's own connector, and a broker of ottla for it."""

    def __init__(self, data_dir: Path) -> None:
        super().__init__(data_dir)
        self.spark = spark_jvm.program(data_dir / "spark.log")
        self.on_ottla: Contestant = Ottla(data_dir / "beside")

    def launch(self) -> None:
        """Starts both brokers, then the session."""
        super().launch()
        self.on_ottla.start()
        self.spark.__enter__()

    def stop(self) -> None:
        """Stops the session, then the brokers."""
        self.spark.kill()
        self.on_ottla.stop()
        super().stop()

    def wait_until_deleted(self) -> None:
        """Returns when the files of all deleted topics are gone, on both brokers."""
        super().wait_until_deleted()
        self.on_ottla.wait_until_deleted()


SPARKS: dict[str, type[SparkOttla] | type[SparkKafka]] = {"ottla": SparkOttla, "kafka": SparkKafka}

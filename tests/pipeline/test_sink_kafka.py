"""The sink on Apache Kafka, which knows no transaction groups: at least once, or once under conditions."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from ottla.base.errors import ConfigError
from ottla.pipeline import sink, sink_steps
from ottla.pipeline.sink_options import SinkOptions, read_sink_options
from tests.pipeline import slots_job
from tests.pipeline.lines_job import LinesJob
from tests.support.clients import consume, create_topic, unique_name
from tests.support.waiting import wait_for


def options(kafka: str, **others: str) -> SinkOptions:
    return read_sink_options({"kafka.bootstrap.servers": kafka, **others}, streaming=True)


def test_the_default_is_at_least_once_with_one_warning(
    kafka: str, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        assert sink.settle_delivery(options(kafka))[1] is False
    assert [record.message.partition(":")[0] for record in caplog.records] == [
        "rows are written at least once"
    ]


def test_exactly_once_is_refused_without_a_promise_and_at_least_once_says_nothing(
    kafka: str, caplog: pytest.LogCaptureFixture
) -> None:
    for lacking in ({}, {"slots": "2"}, {"topic": "t"}):
        with pytest.raises(ConfigError, match=r"takes df.repartition.*write to ottla, or set"):
            sink.settle_delivery(options(kafka, delivery="exactly_once", **lacking))
    promised = options(kafka, delivery="exactly_once", slots="2", topic="t")
    assert sink.settle_delivery(promised)[1] is True
    sink.settle_delivery(options(kafka, delivery="at_least_once"))
    assert not caplog.records


def test_rows_arrive(kafka: str, spark: SparkSession, tmp_path: Path) -> None:
    topic = create_topic(kafka)
    named = {"kafka.bootstrap.servers": kafka, "topic": topic}
    frame = spark.range(100).selectExpr("cast(id as string) value")
    frame.write.format("ottla").options(**named).mode("append").save()
    assert sorted(int(message.value()) for message in consume(kafka, topic)) == list(range(100))


class SlotsJob(LinesJob):
    """Lines into Apache Kafka, exactly once."""

    def __init__(self, spark: SparkSession, kafka: str, directory: Path) -> None:
        super().__init__(spark, kafka, directory)
        self.options |= {"delivery": "exactly_once", "slots": "2", "sinkId": unique_name("sink")}

    @property
    def task(self) -> dict[str, Any]:
        sink = {**self.options, "checkpointLocation": str(self.checkpoint)}
        return {"files": str(self.files), "slots": 2, "sink": sink}

    def finish_lines(self, lines: DataFrame | None = None) -> None:
        self.finish(slots_job.writer(self.lines() if lines is None else lines, self.task))


@pytest.fixture
def job(kafka: str, spark: SparkSession, tmp_path: Path) -> SlotsJob:
    return SlotsJob(spark, kafka, tmp_path)


def test_a_batch_that_failed_in_part_is_completed(job: SlotsJob) -> None:
    job.given(*map(str, range(50)))
    failing = job.lines().repartition(2, "value")
    failing = failing.selectExpr("if(value = '7', raise_error('no more'), value) value")
    with pytest.raises(StreamingQueryException, match="no more"):
        job.finish(failing.writeStream.format("ottla").options(**job.task["sink"]))
    assert len(job.written()) < 50
    job.finish_lines()
    assert job.written() == sorted(map(str, range(50)))
    job.forget_commit(0)
    job.given("x")
    job.finish_lines()
    assert job.written() == sorted([*map(str, range(50)), "x"])


def test_a_frame_in_another_number_of_tasks_is_refused(job: SlotsJob) -> None:
    job.given(*map(str, range(50)))
    sink = job.task["sink"]
    for tasks, said in ((3, "there is a task 2, though slots=2"), (1, "came in 1 tasks")):
        frame = job.lines().repartition(tasks, "value")
        with pytest.raises(StreamingQueryException, match=said):
            job.finish(frame.writeStream.format("ottla").options(**sink))


def test_a_driver_that_is_killed_between_two_parts(job: SlotsJob, tmp_path: Path) -> None:
    job.given(*map(str, range(50)))
    steps = tmp_path / "steps" / job.options["sinkId"]
    steps.mkdir(parents=True)
    (steps / sink_steps.PART_COMMITTED).touch()
    held = steps / f"{sink_steps.PART_COMMITTED}.reached"
    command = [sys.executable, "-m", "tests.pipeline.slots_job", json.dumps(job.task)]
    environment = {**os.environ, sink_steps.VARIABLE: str(steps.parent)}
    log = tmp_path / "driver.log"
    with log.open("wb") as out:
        driver = subprocess.Popen(
            command, env=environment, stdout=out, stderr=out, start_new_session=True
        )

    def committed() -> bool:
        assert driver.poll() is None, log.read_text()[-4000:]
        return held.exists()

    try:
        wait_for(committed, "a part to be committed", 120)
    finally:
        os.killpg(driver.pid, signal.SIGKILL)
        driver.wait(20)
        # Its Python workers are not of the group; this one finds nobody to tell of its success.
        held.unlink(missing_ok=True)
    assert 0 < len(job.written()) <= 50
    job.finish_lines()
    assert job.written() == sorted(map(str, range(50)))


def test_a_version_of_an_application_is_written_once(
    kafka: str, spark: SparkSession, tmp_path: Path
) -> None:
    topic = create_topic(kafka)
    named = {"kafka.bootstrap.servers": kafka, "topic": topic, "delivery": "exactly_once"}
    frame = spark.range(100).selectExpr("cast(id as string) value").repartition(2, "value")
    writer = frame.write.format("ottla").options(**named, slots="2").mode("append")
    with pytest.raises(PySparkException, match="needs txnAppId and txnVersion"):
        writer.save()
    for _ in range(2):
        writer.options(txnAppId=topic, txnVersion="1").save()
    found = consume(kafka, topic, isolation_level="read_committed")
    assert sorted(int(message.value()) for message in found) == list(range(100))

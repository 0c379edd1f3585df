"""df.writeStream.format("ottla"): each batch once, whatever of it is repeated."""

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, lit

from ottla import pipeline
from ottla.protocol.apis.describe_sinks import DescribeSinksRequest
from ottla.protocol.apis.reset_sink import ResetSinkRequest
from ottla.protocol.errors import ErrorCode
from tests.pipeline.kills.mutants import MUTANTS
from tests.pipeline.lines_job import LinesJob, asked
from tests.support.clients import create_topic, unique_name

pytestmark = pytest.mark.usefixtures("ottla_only")


@pytest.fixture
def job(spark: SparkSession, bootstrap: str, tmp_path: Path) -> LinesJob:
    return LinesJob(spark, bootstrap, tmp_path)


def test_a_stream_goes_on_where_it_was(job: LinesJob) -> None:
    job.given("a", "b")
    job.given("c")
    job.run()
    assert job.written() == ["a", "b", "c"]
    assert job.committed_batch() == 1
    job.given("d")
    job.run()
    assert job.written() == ["a", "b", "c", "d"]
    assert job.committed_batch() == 2


def test_a_batch_that_is_repeated_is_skipped(job: LinesJob) -> None:
    job.given("a", "b")
    job.run()
    job.forget_commit(0)
    job.given("c")
    job.run()
    assert job.written() == ["a", "b", "c"]


def test_a_batch_that_is_repeated_is_skipped_where_spark_has_put_the_checkpoint(
    job: LinesJob,
) -> None:
    writer = job.lines().writeStream.format("ottla").options(**job.options)
    job.spark.conf.set("spark.sql.streaming.checkpointLocation", str(job.checkpoint.parent))
    try:
        named = writer.queryName(job.checkpoint.name)
        job.given("a", "b")
        job.finish(named)
        job.forget_commit(0)
        job.finish(named)
    finally:
        job.spark.conf.unset("spark.sql.streaming.checkpointLocation")
    assert job.written() == ["a", "b"]
    job.forget_commit(0)
    job.run()
    assert job.written() == ["a", "b"]


@pytest.mark.parametrize("over", ["format", "write_stream", "settings"])
def test_another_batch_with_as_many_rows_does_not_count_as_written(
    job: LinesJob, over: str
) -> None:
    """A checkpoint is restored, and its next batch has as many rows as the one that is committed."""

    def run() -> None:
        options = {**job.options, "checkpointLocation": str(job.checkpoint)}
        if over == "format":
            job.run()
        elif over == "write_stream":
            job.finish(pipeline.write_stream(job.lines(), options))
        else:
            writer = job.lines().writeStream.format("ottla").options(**job.options)
            job.finish(writer.queryName(job.checkpoint.name))

    if over == "settings":
        job.spark.conf.set("spark.sql.streaming.checkpointLocation", str(job.checkpoint.parent))
    try:
        job.given("a")
        run()
        backup = job.checkpoint.with_name("backup")
        shutil.copytree(job.checkpoint, backup)
        job.given("b")
        run()
        shutil.rmtree(job.checkpoint)
        backup.rename(job.checkpoint)
        (job.files / "0001.txt").rename(job.files.parent / "gone.txt")
        (job.files / "other.txt").write_text("c\n")
        with pytest.raises(StreamingQueryException, match="other contents"):
            run()
    finally:
        job.spark.conf.unset("spark.sql.streaming.checkpointLocation")
    assert job.written() == ["a", "b"]


@pytest.fixture
def view(job: LinesJob) -> str:
    """The checkpoint in a file system that Spark reads and Python does not, as HDFS and object stores are."""
    hadoop = job.spark._jsc.hadoopConfiguration()
    hadoop.set("fs.viewfs.mounttable.sinks.link./c", f"file://{job.checkpoint.parent}")
    return f"viewfs://sinks/c/{job.checkpoint.name}"


def test_a_checkpoint_that_only_spark_can_read(job: LinesJob, view: str) -> None:
    options = {**job.options, "checkpointLocation": view}
    job.given("a")
    with pytest.raises(StreamingQueryException, match=r"viewfs.* cannot be read .*write_stream"):
        job.finish(job.lines().writeStream.format("ottla").options(**options))
    assert job.written() == []
    job.finish(pipeline.write_stream(job.lines(), options))
    job.forget_commit(0)
    job.finish(pipeline.write_stream(job.lines(), options))
    assert job.written() == ["a"]


def test_a_skipped_batch_still_counts_in_the_state(job: LinesJob) -> None:
    counts = job.lines().groupBy("value").count()
    text = counts.select(col("value").alias("key"), col("count").cast("string").alias("value"))
    job.given("a", "b")
    job.run(text, "complete")
    job.forget_commit(0)
    job.given("a")
    job.run(text, "complete")
    assert job.written() == ["1", "1", "1", "2"]


def test_a_sink_that_is_ahead_of_its_checkpoint_refuses(job: LinesJob) -> None:
    name = unique_name("sink")
    job.given("a")
    job.given("b")
    job.run(sinkId=name)
    shutil.rmtree(job.checkpoint)
    with pytest.raises(StreamingQueryException, match="ottla sinks reset"):
        job.run(sinkId=name)
    assert job.written() == ["a", "b"]
    assert not asked(job.bootstrap, name, ResetSinkRequest(sink_id=name)).error_code
    job.run(sinkId=name)
    assert job.written() == ["a", "a", "b", "b"]


def test_a_batch_with_the_same_number_but_other_contents_refuses(job: LinesJob) -> None:
    name = unique_name("sink")
    job.given("a")
    job.run(sinkId=name)
    shutil.rmtree(job.checkpoint)
    (job.files / "0000.txt").unlink()
    (job.files / "other.txt").write_text("x\ny\n")
    with pytest.raises(StreamingQueryException, match="other contents"):
        job.run(sinkId=name)
    assert job.written() == ["a"]


def test_an_empty_batch_moves_the_ledger(job: LinesJob) -> None:
    job.given("a")
    job.run(job.lines().where("value > 'm'"))
    assert job.written() == []
    assert job.committed_batch() == 0
    job.forget_commit(0)
    job.run(job.lines().where("value > 'm'"))
    assert job.committed_batch() == 0


def test_a_failed_batch_leaves_nothing_and_the_next_run_writes_it(job: LinesJob) -> None:
    job.given(*(f"v{n}" for n in range(100)))
    failing = job.lines().selectExpr("if(value = 'v99', raise_error('no more'), value) value")
    with pytest.raises(StreamingQueryException, match="no more"):
        job.run(failing)
    assert job.written() == []
    misplaced = job.lines().selectExpr("value", "if(value = 'v99', 9, 0) partition")
    with pytest.raises(StreamingQueryException, match="the column partition has 9"):
        job.run(misplaced)  # found out after the task has opened its slot
    assert job.written() == []
    assert job.open_slots() == 0
    job.run()
    assert len(job.written()) == 100


def test_update_mode_goes_through_write_stream(job: LinesJob) -> None:
    counts = job.lines().groupBy("value").count()
    text = counts.selectExpr("value key", "concat(value, '=', count) value")
    options = {**job.options, "checkpointLocation": str(job.checkpoint)}

    def run() -> None:
        job.finish(pipeline.write_stream(text, options, output_mode="update"))

    job.given("a", "b")
    run()
    job.forget_commit(0)
    job.given("a")
    run()
    assert job.written() == ["a=1", "a=2", "b=1"]
    assert job.committed_batch() == 1


def branches(job: LinesJob, other: str) -> Callable[[DataFrame], dict[str, DataFrame]]:
    return lambda batch: {
        job.topic: batch.where("length(value) = 1"),
        other: batch.where("length(value) <> 1"),
    }


def test_several_frames_count_together(job: LinesJob) -> None:
    other = create_topic(job.bootstrap, "dead-letters", partitions=2)
    options = {
        "kafka.bootstrap.servers": job.bootstrap,
        "checkpointLocation": str(job.checkpoint),
    }
    job.given("a", "bad", "b")
    job.finish(pipeline.write_stream(job.lines(), options, branches(job, other)))
    job.forget_commit(0)
    job.given("c", "worse")
    job.finish(pipeline.write_stream(job.lines(), options, branches(job, other)))
    assert (job.written(), job.written(other)) == (["a", "b", "c"], ["bad", "worse"])


def test_a_batch_of_no_frames_moves_the_ledger(job: LinesJob) -> None:
    options = {
        "kafka.bootstrap.servers": job.bootstrap,
        "checkpointLocation": str(job.checkpoint),
    }
    job.given("a")
    job.finish(pipeline.write_stream(job.lines(), options, lambda batch: {}))
    assert job.committed_batch() == 0


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        (["value other"], "has no column value"),
        (["1 value"], "value is of type int and must be string or binary"),
    ],
)
def test_a_frame_that_cannot_be_written_says_why(
    job: LinesJob, columns: list[str], sentence: str
) -> None:
    job.given("a")
    with pytest.raises(StreamingQueryException, match=sentence):
        job.run(job.lines().selectExpr(*columns))
    assert job.written() == []
    job.run()
    assert job.written() == ["a"]


def test_a_frame_that_is_written_inside_a_batch_is_a_write_of_its_own(job: LinesJob) -> None:
    def write_twice(batch: DataFrame, number: int) -> None:
        for _ in range(2):
            batch.write.format("ottla").options(**job.options).mode("append").save()

    def run() -> None:
        writer = job.lines().writeStream.foreachBatch(write_twice)
        job.finish(writer.option("checkpointLocation", str(job.checkpoint)))

    job.given("a")
    run()
    job.forget_commit(0)
    run()
    assert job.written() == ["a"] * 4, "the same batch, four times written"
    unknown = asked(job.bootstrap, job.query_id, DescribeSinksRequest(sink_ids=[job.query_id]))
    assert unknown.sinks[0].error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND


def test_a_frame_that_fails_takes_the_others_with_it(job: LinesJob) -> None:
    other = create_topic(job.bootstrap, "dead-letters", partitions=2)
    options = {
        "kafka.bootstrap.servers": job.bootstrap,
        "checkpointLocation": str(job.checkpoint),
    }

    def frames(batch: DataFrame) -> dict[str, DataFrame]:
        return {job.topic: batch, other: batch.withColumn("value", lit(1))}

    job.given("a")
    with pytest.raises(StreamingQueryException, match="must be string or binary"):
        job.finish(pipeline.write_stream(job.lines(), options, frames))
    assert job.written() == []
    job.finish(pipeline.write_stream(job.lines(), options, branches(job, other)))
    assert Counter(job.written()) == {"a": 1}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_worse_sink_is_caught(job: LinesJob, mutant: str) -> None:
    job.spark.dataSource.register(MUTANTS[mutant])
    job.given("a", "b")
    job.run(provider=mutant)
    assert job.written() == ["a", "b"]
    job.forget_commit(0)
    job.run(provider=mutant)
    assert job.written() == ["a", "a", "b", "b"], "the tests above would not notice"

"""`write_stream()`: a stream over foreachBatch, for update mode, and for several frames that count as one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from ottla.base.errors import OttlaError
from ottla.pipeline.sink import (
    BATCH_ID,
    GROUP_OPTION,
    QUERY_ID,
    RUN_ID,
    Group,
    settle_delivery,
)
from ottla.pipeline.sink_commit import (
    abort_parts,
    commit_parts,
    newest_generation,
)
from ottla.pipeline.sink_digest import batch_digest
from ottla.pipeline.sink_message import Claim, PartMessage, read_stage
from ottla.pipeline.sink_options import AT_LEAST_ONCE, SinkOptions, read_sink_options
from ottla.pipeline.stream_checkpoint import checkpoint_of, spark_reader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_CHECKPOINT: Final = "checkpointLocation"
_OF_THE_STREAM: Final = frozenset(("checkpointlocation", "sinkid", "queryname"))


def write_stream(
    frame: DataFrame,
    options: Mapping[str, str],
    frames: Callable[[DataFrame], Mapping[str, DataFrame]] | None = None,
    *,
    output_mode: str = "append",
) -> DataStreamWriter:
    """A writer of `frame`, to be started, of which each batch counts once and as a whole.

    `options` are those of the sink. `frames` makes several frames of a batch, each under the topic that it goes to: all
    of them count together or not at all. Without it, the batch itself is written as the sink does it. `output_mode` may
    be "update", too.
    """
    read = read_sink_options(options, streaming=True)

    def write(batch: DataFrame, batch_id: int) -> None:
        _write_batch(batch, batch_id, options, read, frames, frame.sparkSession)

    writer = frame.writeStream.outputMode(output_mode).foreachBatch(write)
    if read.checkpoint_location is not None:
        writer = writer.option(_CHECKPOINT, read.checkpoint_location)
    return writer


def _write_batch(
    batch: DataFrame,
    batch_id: int,
    options: Mapping[str, str],
    read: SinkOptions,
    frames: Callable[[DataFrame], Mapping[str, DataFrame]] | None,
    spark: SparkSession,
) -> None:
    settings, once = settle_delivery(read)
    of_frames = {name: text for name, text in options.items() if name.lower() not in _OF_THE_STREAM}
    if frames is None:
        made = [(batch, of_frames)]
    else:
        # All frames see the same rows, whatever their plans have of chance in them.
        batch = batch.persist()
        made = [(each, {**of_frames, "topic": topic}) for topic, each in frames(batch).items()]
    try:
        if not once:
            for each, how in made:
                known = {**how, "delivery": AT_LEAST_ONCE}  # no frame has to say it again
                each.write.format("ottla").options(**known).mode("append").save()
            return
        claim = _claim(batch, batch_id, read.sink_id)
        parts: list[PartMessage] = []
        try:
            _write_frames(made, claim, parts)
        except BaseException:
            abort_parts(settings, claim, newest_generation(parts))
            raise
        commit_parts(settings, parts, _digest(spark, claim), read.timeout_ms, claim=claim)
    finally:
        if frames is not None:
            batch.unpersist()


def _write_frames(
    frames: list[tuple[DataFrame, dict[str, str]]], claim: Claim, parts: list[PartMessage]
) -> None:
    """Write each frame, and gather what is to be committed."""
    with TemporaryDirectory(prefix="ottla-group-") as directory:
        for number, (frame, options) in enumerate(frames):
            stage = Path(directory, str(number))
            marked = {**options, GROUP_OPTION: Group(claim, stage).option()}
            frame.write.format("ottla").options(**marked).mode("append").save()
            parts += read_stage(stage)


def _digest(spark: SparkSession, claim: Claim) -> str:
    checkpoint = checkpoint_of(spark, claim.query_id)
    return batch_digest(claim.query_id, checkpoint, claim.batch, spark_reader(spark, checkpoint))


def _claim(batch: DataFrame, batch_id: int, sink_id: str | None) -> Claim:
    context = batch.sparkSession.sparkContext
    query_id, run_id = context.getLocalProperty(QUERY_ID), context.getLocalProperty(RUN_ID)
    running = context.getLocalProperty(BATCH_ID)
    if query_id is None or run_id is None or running != str(batch_id):
        raise OttlaError("this thread runs no batch of a stream; start what write_stream returned")
    return Claim(sink_id or query_id, run_id, batch_id, query_id)

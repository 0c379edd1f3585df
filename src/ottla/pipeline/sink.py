"""The writers of `format("ottla")`: a batch that counts as a whole, and a stream of which each batch counts once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from ottla.base.errors import ConfigError, OttlaError
from ottla.base.log import logger
from ottla.client.producer_settings import ProducerSettings
from ottla.pipeline.options import meaningless
from ottla.pipeline.sink_commit import (
    abort_parts,
    abort_unheard,
    claim_of,
    commit_parts,
    newest_generation,
    run_of,
)
from ottla.pipeline.sink_digest import UnknownBatch, batch_digest, local_reader, query_id_of
from ottla.pipeline.sink_driver import driver_process
from ottla.pipeline.sink_message import Claim, PartMessage, write_stage
from ottla.pipeline.sink_options import (
    AT_LEAST_ONCE,
    EXACTLY_ONCE,
    SinkOptions,
    exactly_once,
    read_sink_options,
)
from ottla.pipeline.sink_schema import sink_columns
from ottla.pipeline.sink_work import Attempt, Work, check_parts, generation_of
from ottla.pipeline.worker_settling import settles
from ottla.pipeline.writing_link import link_to

if TYPE_CHECKING:
    import pyarrow as pa

log = logger(__name__)

GROUP_OPTION: Final = "ottla.group"
"""Set by `write_stream` alone: the frame is a part of something larger, which commits it."""

QUERY_ID: Final = "sql.streaming.queryId"
RUN_ID: Final = "spark.jobGroup.id"
BATCH_ID: Final = "streaming.sql.batchId"
_DEFAULT_CHECKPOINTS: Final = "spark.sql.streaming.checkpointLocation"
_SAME_VERSION: Final = "txnVersion"

_warned: Final[set[str]] = set()


@dataclass(frozen=True)
class Group:
    """The group of frames that a batch write belongs to, and where it leaves its messages."""

    claim: Claim
    stage: Path

    def option(self) -> str:
        """The group as the value of GROUP_OPTION."""
        claim = self.claim
        return json.dumps(
            [claim.sink_id, claim.run_id, claim.batch, claim.query_id, str(self.stage)]
        )

    @classmethod
    def read(cls, option: str) -> Group:
        """The group that an option tells of."""
        *claim, stage = json.loads(option)
        return cls(Claim(*claim), Path(stage))


class BatchSink(DataSourceArrowWriter):
    """One write of a frame."""

    def __init__(
        self, work: Work, claim: Claim | None, options: SinkOptions, stage: Path | None
    ) -> None:
        self._work = work
        self._claim = claim
        self._options = options
        self._stage = stage

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write one part."""
        return _written(iterator, self._work, self._claim)

    @settles
    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Make all parts count."""
        parts = _parts(messages)
        check_parts(parts, self._work)
        if self._stage is not None:
            write_stage(self._stage, parts)
        else:
            commit_parts(self._work.settings, parts, _SAME_VERSION, self._work.timeout_ms)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Give all parts up; also those of tasks that failed, and told nothing."""
        if self._work.slots is None:
            generation = newest_generation(_parts(messages))
            abort_parts(self._work.settings, self._claim, generation)


class StreamSink(DataSourceStreamArrowWriter):
    """One batch of a stream."""

    def __init__(
        self, work: Work, options: SinkOptions, warnings: list[str], *, once: bool
    ) -> None:
        self._work = work
        self._options = options
        self._warnings = warnings
        self._once = once
        self._driver = driver_process()

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write one part of the batch."""
        claim = _streaming_claim(self._options, self._driver) if self._once else None
        return _written(iterator, self._work, claim)

    @settles
    def commit(self, messages: list[WriterCommitMessage | None], batch_id: int) -> None:
        """Make all parts of the batch count."""
        self._warn()
        parts = _parts(messages)
        check_parts(parts, self._work)
        claim = claim_of(parts)
        if claim is None:
            return  # at least once, or each task has committed its part
        read = local_reader(claim.checkpoint)
        digest = batch_digest(claim.query_id, claim.checkpoint, batch_id, read)
        commit_parts(self._work.settings, parts, digest, self._work.timeout_ms)

    def abort(self, messages: list[WriterCommitMessage | None], batch_id: int) -> None:
        """Give all parts of the batch up."""
        self._warn()
        parts = _parts(messages)
        claim, settings = claim_of(parts), self._work.settings
        if claim is not None:
            abort_parts(settings, claim, newest_generation(parts))
        elif self._once and self._work.slots is None:
            # Only the tasks know the run; its driver is known here, and the sink's name is in the checkpoint.
            named = self._options.sink_id or query_id_of(
                local_reader(self._options.checkpoint_location)
            )
            if named is not None and self._driver is not None:
                abort_unheard(settings, named, self._driver, batch_id)

    def _warn(self) -> None:
        # Two processes make this writer for each batch, one to plan it and one to end it: only the second speaks.
        for sentence in self._warnings:
            _warn_once(sentence)


def batch_sink(options: Mapping[str, str], schema: StructType, overwrite: bool) -> BatchSink:
    """The writer of a frame; runs on the driver, once for each write."""
    if overwrite:
        raise OttlaError(
            "mode('overwrite') would delete what the topic has, which a sink never does; use "
            "mode('append'), and kafka-delete-records or 'kafka-topics --delete' to remove records"
        )
    given = dict(options)
    group = given.pop(GROUP_OPTION, None)
    read = read_sink_options(given, streaming=False)
    work, once = _work(read, schema)
    if work.slots is not None and (group is not None or read.txn_app_id is None):
        raise ConfigError(
            "delivery",
            EXACTLY_ONCE,
            "on Apache Kafka a batch write needs txnAppId and txnVersion for it, and write_stream cannot do "
            "it at all: use writeStream.format('ottla')",
        )
    if group is not None:
        found = Group.read(group)
        return BatchSink(work, found.claim if once else None, read, found.stage)
    return BatchSink(work, _batch_claim(read, work) if once else None, read, None)


def stream_sink(options: Mapping[str, str], schema: StructType) -> StreamSink:
    """The writer of a stream's batch; runs on the driver, before each batch and before its commit."""
    read = read_sink_options(options, streaming=True)
    warnings: list[str] = []
    work, once = _work(read, schema, warnings.append)
    checkpoint = read.checkpoint_location
    if once and work.slots is None and checkpoint and query_id_of(local_reader(checkpoint)) is None:
        raise UnknownBatch(checkpoint)  # before anything is written
    return StreamSink(work, read, warnings, once=once)


def _warn_once(sentence: str) -> None:
    if sentence not in _warned:
        _warned.add(sentence)
        log.warning(sentence)


def settle_delivery(
    read: SinkOptions, warn: Callable[[str], None] = _warn_once
) -> tuple[ProducerSettings, bool]:
    """The producer's settings, and whether rows are written exactly once, as asked for or as the brokers can.

    What is to be said to the user goes to `warn`: unless told otherwise at once, and once in a process.
    """
    settings = read.producer()
    if read.delivery == AT_LEAST_ONCE:
        return settings, False
    if link_to(exactly_once(settings)).has_sinks():
        return exactly_once(settings), True
    if read.delivery == EXACTLY_ONCE:
        _check_slots(read)
        return exactly_once(settings), True
    warn(
        "rows are written at least once: the brokers do not know transaction groups, as Apache "
        f"Kafka does not ({read.bootstrap_servers}); delivery=at_least_once says that this is meant"
    )
    return settings, False


def _check_slots(read: SinkOptions) -> None:
    """Where each task commits by itself, a batch that is repeated must consist of the same parts."""
    if read.slots is None or read.topic is None:
        raise ConfigError(
            "delivery",
            EXACTLY_ONCE,
            f"the brokers at {read.bootstrap_servers} do not know transaction groups, as Apache Kafka "
            "does not; there it takes df.repartition(N, 'key') of rows that are the same when a batch is "
            "repeated, and the options slots=N and topic. Or write to ottla, or set delivery=at_least_once",
        )


def _work(
    read: SinkOptions, schema: StructType, warn: Callable[[str], None] = _warn_once
) -> tuple[Work, bool]:
    columns = sink_columns(schema, read.topic, timestamps=read.include_timestamp)
    if read.without_meaning:
        warn(meaningless(read.without_meaning))
    settings, once = settle_delivery(read, warn)
    slots = read.slots if once and not link_to(settings).has_sinks() else None
    return Work(settings, columns, read.timeout_ms, slots), once


def _batch_claim(read: SinkOptions, work: Work) -> Claim:
    # Never from a stream's properties: a frame written inside foreachBatch is a write of its own.
    run_id = str(uuid4())
    if read.txn_app_id is not None and read.txn_version is not None:
        return Claim(read.txn_app_id, run_id, read.txn_version, skip_older=True)
    claim = Claim(run_id, run_id, 0, ephemeral=True)
    return replace(claim, generation=generation_of(link_to(work.settings), claim, work.timeout_ms))


def _streaming_claim(options: SinkOptions, driver: str | None) -> Claim:
    context = _context()
    query_id, run_id = context.getLocalProperty(QUERY_ID), context.getLocalProperty(RUN_ID)
    batch = context.getLocalProperty(BATCH_ID)
    if query_id is None or run_id is None or batch is None:
        raise OttlaError("this task belongs to no batch of a stream; write with spark.write")
    if driver is not None:
        run_id = run_of(run_id, driver)
    checkpoint = options.checkpoint_location or _named_checkpoint(context, options.query_name)
    return Claim(options.sink_id or query_id, run_id, int(batch), query_id, checkpoint=checkpoint)


def _named_checkpoint(context: Any, query_name: str | None) -> str | None:
    """The checkpoint of a query that has it from Spark's settings; without a name, no other run would find it."""
    parent = context.getLocalProperty(_DEFAULT_CHECKPOINTS)
    return None if parent is None or not query_name else f"{parent.rstrip('/')}/{query_name}"


def _written(
    batches: Iterator[pa.RecordBatch], work: Work, claim: Claim | None
) -> WriterCommitMessage:
    # Compiled code takes a moment to load, which only tasks have to wait for.
    from ottla.pipeline.sink_task import write_part

    context = _context()
    attempt = Attempt(context.partitionId(), context.taskAttemptId())
    if claim is not None and work.slots is not None:
        from ottla.pipeline.sink_slots import write_slot

        return write_slot(batches, work, claim, attempt.partition)
    return write_part(batches, work, claim, attempt)


def _context() -> Any:
    context = TaskContext.get()
    if context is None:
        raise OttlaError("rows are written by Spark's tasks only")
    return context


def _parts(messages: list[WriterCommitMessage | None]) -> list[PartMessage]:
    return [message for message in messages if isinstance(message, PartMessage)]

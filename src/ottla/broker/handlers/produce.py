"""Produce (api 0, v3-v13).

Versions: v5 log start offset · v7 zstd · v8 record errors (KIP-467) · v9 flexible · v10 current leader (KIP-951) ·
v13 topic ids.
Differs from Apache Kafka: a batch is decompressed only where its inside matters (compacted topics, another
compression.type, `ottla.produce.validation=deep`); transactional batches are refused until there are transactions.
"""

from __future__ import annotations

from functools import partial
from typing import TypeAlias

from ottla.base.errors import ApiError, StorageError
from ottla.base.log import logger
from ottla.broker import metrics
from ottla.broker.context import RequestContext
from ottla.broker.reply import Buffers, CloseConnection, Pending, Reply
from ottla.protocol.errors import ErrorCode
from ottla.protocol.produce_frames import (
    PartitionResult,
    ProduceRequest,
    ProduceTopic,
    encode_produce_response,
    parse_produce,
)
from ottla.protocol.records.batch import HEADER_SIZE, parse_header
from ottla.protocol.records.compression import Codec
from ottla.replication.partition import Partition, error_code_of
from ottla.storage.validate import (
    InvalidRecords,
    ValidatedBatch,
    must_decompress,
    validate_produced,
)

log = logger(__name__)

_ALL = -1
_FIRST_WITH_ZSTD = 7
# Below this, decompressing on the loop is cheaper than a round trip through a thread.
_INLINE_DECOMPRESSION_BYTES = 16 * 1024

Results: TypeAlias = list[tuple[str | bytes, list[PartitionResult]]]


def handle(context: RequestContext, frame: memoryview, pos: int) -> Reply:
    """Append, and answer when the acknowledgement that was asked for is earned."""
    request = parse_produce(frame, pos, context.version)
    operation = _Produce(context, request)
    if request.acks not in (_ALL, 0, 1):
        return operation.refuse(ErrorCode.INVALID_REQUIRED_ACKS, "acks must be -1, 0 or 1")
    if operation.leaves_the_loop():
        return operation.start_beside_the_loop()
    operation.append_all()
    return operation.reply()


class _Produce:
    """One request under way."""

    __slots__ = ("awaited", "context", "deep", "now_ms", "pending", "request", "results")

    def __init__(self, context: RequestContext, request: ProduceRequest) -> None:
        self.context = context
        self.request = request
        self.now_ms = context.broker.now_ms()
        self.deep = context.broker.settings.deep_validation
        self.results: Results = []
        self.awaited: list[tuple[Partition, int, list[PartitionResult], int]] = []
        self.pending: Pending | None = None

    def refuse(self, error: int, message: str) -> Reply:
        self.results = [
            (
                topic,
                [PartitionResult(part.partition, error, error_message=message) for part in parts],
            )
            for topic, parts in self.request.topics
        ]
        return self.encoded()

    def append_all(self) -> None:
        for topic, parts in self.request.topics:
            results: list[PartitionResult] = []
            self.results.append((topic, results))
            for part in parts:
                try:
                    partition = self._leader(topic, part.partition)
                    self._check_version(part.records)
                    batch = validate_produced(
                        part.records, partition.log.config, self.now_ms, deep=self.deep
                    )
                    results.append(self._append(partition, batch, results))
                except (ApiError, StorageError) as failure:
                    results.append(_failed(part.partition, failure))

    def _leader(self, topic: str | bytes, index: int) -> Partition:
        partition = self.context.broker.partitions.leader(topic, index)
        if self.request.acks == _ALL:
            partition.check_in_sync()
        return partition

    def _check_version(self, records: memoryview) -> None:
        if self.context.version >= _FIRST_WITH_ZSTD or len(records) < HEADER_SIZE:
            return
        if parse_header(records).codec == Codec.ZSTD:
            raise ApiError(
                ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, "zstd needs Produce v7; upgrade the client"
            )

    def _append(
        self, partition: Partition, batch: ValidatedBatch, results: list[PartitionResult]
    ) -> PartitionResult:
        if batch.header.is_transactional:
            raise ApiError(ErrorCode.INVALID_TXN_STATE, "this version of ottla has no transactions")
        appended = partition.append(batch, self.now_ms)
        if partition.high_watermark <= appended.last_offset and self._waits(partition):
            self.awaited.append((partition, appended.last_offset + 1, results, len(results)))
        return PartitionResult(
            partition.tp.partition,
            ErrorCode.NONE,
            appended.base_offset,
            batch.log_append_time_ms,
            appended.log_start_offset,
        )

    def _waits(self, partition: Partition) -> bool:
        return self.request.acks == _ALL or (self.request.acks == 1 and partition.syncs_every_batch)

    def reply(self) -> Reply:
        if not self.awaited:
            return self.encoded()
        pending = self.pending or Pending(blocking=False)
        self.pending = pending
        outstanding = len(self.awaited)

        def committed(position: int, error: int) -> None:
            nonlocal outstanding
            outstanding -= 1
            if error:
                self._fail(position, error)
            if outstanding == 0:
                timer.cancel()
                pending.resolve(self.encoded())

        timer = self.context.broker.loop.call_later(self.request.timeout_ms / 1000, self._time_out)
        for position, (partition, end_offset, _, _) in enumerate(self.awaited):
            partition.when_committed(end_offset, partial(committed, position))
        pending.on_cancel = timer.cancel
        pending.unblock()
        return pending

    def _fail(self, position: int, error: int) -> None:
        _, _, results, at = self.awaited[position]
        results[at] = PartitionResult(results[at].partition, error)

    def _time_out(self) -> None:
        for position, (partition, end_offset, _, _) in enumerate(self.awaited):
            if partition.high_watermark < end_offset:
                self._fail(position, ErrorCode.REQUEST_TIMED_OUT)
        if self.pending is not None:
            self.pending.resolve(self.encoded())

    def encoded(self) -> Buffers | None:
        if self.request.acks != 0:
            return encode_produce_response(
                self.context.correlation_id, self.context.version, self.results
            )
        for topic, results in self.results:
            for result in results:
                if result.error:
                    # Nobody reads a reply to acks=0; the closed connection makes the client refresh its metadata.
                    name = ErrorCode(result.error).name
                    raise CloseConnection(
                        f"acks=0 write to {topic!r}-{result.partition} failed: {name}"
                    )
        return None

    def leaves_the_loop(self) -> bool:
        """Whether a batch is so large, and needs such a look inside, that it would hold up everyone else."""
        partitions = self.context.broker.partitions
        for topic, parts in self.request.topics:
            for part in parts:
                if len(part.records) > _INLINE_DECOMPRESSION_BYTES:
                    partition = partitions.find(topic, part.partition)
                    if partition is not None and must_decompress(
                        parse_header(part.records), partition.log.config, self.deep
                    ):
                        return True
        return False

    def start_beside_the_loop(self) -> Pending:
        """Validate in a thread; until it has appended, nothing behind it on the connection starts."""
        # The views die with this callback.
        self.request = self.request._replace(
            topics=[_copied(topic) for topic in self.request.topics]
        )
        self.pending = Pending(blocking=True)
        metrics.VALIDATED_BESIDE_THE_LOOP.value += 1
        self.context.broker.tasks.spawn(self._append_beside_the_loop(self.pending))
        return self.pending

    async def _append_beside_the_loop(self, pending: Pending) -> None:
        broker = self.context.broker
        for topic, parts in self.request.topics:
            results: list[PartitionResult] = []
            self.results.append((topic, results))
            for part in parts:
                try:
                    self._check_version(part.records)
                    config = self._leader(topic, part.partition).log.config
                    validate = partial(
                        validate_produced, part.records, config, self.now_ms, deep=self.deep
                    )
                    batch = await broker.loop.run_in_executor(broker.executor, validate)
                    # Looked up again: the leader may have changed while the thread ran.
                    results.append(
                        self._append(self._leader(topic, part.partition), batch, results)
                    )
                except (ApiError, StorageError) as failure:
                    results.append(_failed(part.partition, failure))
        try:
            reply = self.reply()
        except CloseConnection as why:
            log.warning("connection closed", client=self.context.connection.host, reason=str(why))
            self.context.connection.abort()
            return
        if not isinstance(reply, Pending):
            pending.resolve(reply)


def _failed(index: int, failure: ApiError | StorageError) -> PartitionResult:
    code = error_code_of(failure)
    metrics.PRODUCE_ERRORS.labels(error=ErrorCode(code).name).value += 1
    if isinstance(failure, InvalidRecords):
        return PartitionResult(
            index, code, record_errors=tuple(failure.record_errors), error_message=str(failure)
        )
    return PartitionResult(index, code, error_message=str(failure))


def _copied(topic: ProduceTopic) -> ProduceTopic:
    parts = [p._replace(records=memoryview(bytearray(p.records))) for p in topic.partitions]
    return topic._replace(partitions=parts)

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
    Topics,
    encode_produce_response,
    parse_produce,
)
from ottla.protocol.records.batch import HEADER_SIZE, TRANSACTIONAL_FLAG, parse_header
from ottla.protocol.records.compression import Codec
from ottla.replication.partition import Partition, error_code_of
from ottla.storage.validate import (
    InvalidRecords,
    ValidatedBatch,
    validate_at_once,
    validate_produced,
)

log = logger(__name__)

_ALL = -1
_FIRST_WITH_ZSTD = 7

Results: TypeAlias = list[tuple[str | bytes, list[PartitionResult]]]


def handle(context: RequestContext, frame: memoryview, pos: int) -> Reply:
    """Append, and answer when the acknowledgement that was asked for is earned."""
    request = parse_produce(frame, pos, context.version)
    operation = _Produce(context, request)
    if request.acks not in (_ALL, 0, 1):
        return operation.refuse(ErrorCode.INVALID_REQUIRED_ACKS, "acks must be -1, 0 or 1")
    return operation.run()


class _Produce:
    """One request under way."""

    __slots__ = ("acks", "awaited", "context", "deep", "now_ms", "pending", "request", "results")

    def __init__(self, context: RequestContext, request: ProduceRequest) -> None:
        self.context = context
        self.request = request
        self.acks = request.acks
        self.now_ms = context.broker.now_ms()
        self.deep = context.broker.settings.deep_validation
        self.results: Results = []
        self.awaited: list[tuple[Partition, int, list[PartitionResult], int]] = []
        self.pending: Pending | None = None

    def refuse(self, error: int, message: str) -> Reply:
        self.results = [
            (topic, [PartitionResult(index, error, error_message=message) for index, _ in parts])
            for topic, parts in self.request.topics
        ]
        return self._encoded()

    def run(self) -> Reply:
        """Append everything in this callback, unless a batch needs a look inside that takes long."""
        for topic, parts in self.request.topics:
            results: list[PartitionResult] = []
            self.results.append((topic, results))
            for index, records in parts:
                try:
                    partition = self._leader(topic, index)
                    self._check_version(records)
                    config = partition.log.config
                    batch = validate_at_once(records, config, self.now_ms, deep=self.deep)
                    if batch is None:
                        return self._go_on_beside_the_loop()
                    results.append(self._append(partition, batch, results))
                except (ApiError, StorageError) as failure:
                    results.append(_failed(index, failure))
        return self._reply()

    def _leader(self, topic: str | bytes, index: int) -> Partition:
        partition = self.context.broker.partitions.leader(topic, index)
        if self.acks == _ALL:
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
        if batch.header.attributes & TRANSACTIONAL_FLAG:
            raise ApiError(ErrorCode.INVALID_TXN_STATE, "this version of ottla has no transactions")
        base_offset, last_offset, log_start, _ = partition.append(batch, self.now_ms)
        if partition.log.high_watermark <= last_offset and self._waits(partition):
            self.awaited.append((partition, last_offset + 1, results, len(results)))
        return PartitionResult(
            partition.tp.partition, 0, base_offset, batch.log_append_time_ms, log_start
        )

    def _waits(self, partition: Partition) -> bool:
        return self.acks == _ALL or (self.acks == 1 and partition.syncs_every_batch)

    def _reply(self) -> Reply:
        if not self.awaited:
            return self._encoded()
        pending = self.pending = self.pending or Pending(blocking=False)
        outstanding = len(self.awaited)

        def committed(position: int, error: int) -> None:
            nonlocal outstanding
            outstanding -= 1
            if error:
                self._fail(position, error)
            if outstanding == 0:
                timer.cancel()
                pending.resolve(self._encoded())

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
            self.pending.resolve(self._encoded())

    def _encoded(self) -> Buffers | None:
        if self.acks != 0:
            return encode_produce_response(
                self.context.correlation_id, self.context.version, self.results
            )
        for topic, results in self.results:
            for result in results:
                if result.error:
                    # Nobody reads a reply to acks=0; a closed connection makes the client look around.
                    name = ErrorCode(result.error).name
                    raise CloseConnection(f"acks=0: {topic!r}-{result.partition} answered {name}")
        return None

    def _go_on_beside_the_loop(self) -> Pending:
        """Validate the rest in a thread; until it has appended, no request behind it starts."""
        done = {topic: len(results) for topic, results in self.results}
        # The views die with this callback.
        rest = [
            (topic, [(index, memoryview(bytearray(records))) for index, records in parts])
            for topic, parts in self.request.topics[len(self.results) - 1 :]
        ]
        rest[0] = rest[0][0], rest[0][1][done[rest[0][0]] :]
        self.pending = Pending(blocking=True)
        metrics.VALIDATED_BESIDE_THE_LOOP.value += 1
        self.context.broker.tasks.spawn(self._append_rest(rest, self.pending))
        return self.pending

    async def _append_rest(self, rest: Topics, pending: Pending) -> None:
        for number, (topic, parts) in enumerate(rest):
            if number:
                self.results.append((topic, []))
            results = self.results[-1][1]
            for index, records in parts:
                try:
                    results.append(await self._append_one(topic, index, records, results))
                except (ApiError, StorageError) as failure:
                    results.append(_failed(index, failure))
        try:
            reply = self._reply()
        except CloseConnection as why:
            log.warning("connection closed", client=self.context.connection.host, reason=str(why))
            self.context.connection.abort()
            return
        if not isinstance(reply, Pending):
            pending.resolve(reply)

    async def _append_one(
        self, topic: str | bytes, index: int, records: memoryview, results: list[PartitionResult]
    ) -> PartitionResult:
        broker = self.context.broker
        config = self._leader(topic, index).log.config
        self._check_version(records)
        validate = partial(validate_produced, records, config, self.now_ms, deep=self.deep)
        batch = await broker.loop.run_in_executor(broker.executor, validate)
        # Looked up again: the leader may have changed while the thread ran.
        return self._append(self._leader(topic, index), batch, results)


def _failed(index: int, failure: ApiError | StorageError) -> PartitionResult:
    code = error_code_of(failure)
    metrics.PRODUCE_ERRORS.labels(error=ErrorCode(code).name).value += 1
    if isinstance(failure, InvalidRecords):
        return PartitionResult(
            index, code, record_errors=tuple(failure.record_errors), error_message=str(failure)
        )
    return PartitionResult(index, code, error_message=str(failure))

"""Produce (api 0, v3-v13).

Versions: v5 log start offset · v7 zstd · v8 record errors (KIP-467) · v9 flexible · v10 current leader (KIP-951) ·
v11 TRANSACTION_ABORTABLE · v12 partitions join the transaction when they are written to (KIP-890) · v13 topic ids.
Differs from Apache Kafka: a batch is decompressed only where its inside matters (compacted topics, another
compression.type, `ottla.produce.validation=deep`). A request with a transactional id must hold transactional batches
alone: any other would be visible whatever becomes of the transaction.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from ottla.base.errors import ApiError, StorageError
from ottla.base.ids import TopicPartition
from ottla.broker import metrics, transaction_entry
from ottla.broker.context import RequestContext
from ottla.broker.leader_hints import hinted_nodes, leader_hint
from ottla.broker.reply import Buffers, CloseConnection, Pending, Reply
from ottla.broker.topic_views import INTERNAL_TOPICS, Node
from ottla.broker.transaction_entry import Entry
from ottla.coordination.transactions.state import Producer
from ottla.protocol.errors import ErrorCode
from ottla.protocol.produce_frames import (
    PartitionResult,
    ProduceRequest,
    Topics,
    encode_one_success,
    encode_produce_response,
    parse_produce,
)
from ottla.protocol.records.batch import (
    HEADER_SIZE,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    parse_header,
)
from ottla.protocol.records.compression import Codec
from ottla.replication.partition import Partition, error_code_of
from ottla.storage.validate import (
    InvalidRecords,
    ValidatedBatch,
    validate_at_once,
    validate_produced,
)

if TYPE_CHECKING:
    from asyncio import Future, TimerHandle

_ALL = -1
_FIRST_WITH_ZSTD = 7
_ADMIN_CLIENT = "__admin_client"  # the one client id that Kafka lets write to internal topics
_FIRST_WITH_ABORTABLE = 11
_FIRST_THAT_ADDS = 12

Results: TypeAlias = list[tuple[str | bytes, list[PartitionResult]]]


def handle(context: RequestContext, frame: memoryview, pos: int) -> Reply:
    """Append, and answer when the acknowledgement that was asked for is earned."""
    request = parse_produce(frame, pos, context.version)
    reply = _append_one(context, request)
    if reply is not None:
        return reply
    operation = _Produce(context, request)
    if request.acks not in (_ALL, 0, 1):
        return operation.refuse(ErrorCode.INVALID_REQUIRED_ACKS, "acks must be -1, 0 or 1")
    if request.transactional_id is not None and (
        context.version >= _FIRST_THAT_ADDS
        or not transaction_entry.is_coordinated_here(context.broker, request.transactional_id)
    ):
        return operation.enter_transaction(request.transactional_id)
    return operation.run()


def _append_one(context: RequestContext, request: ProduceRequest) -> Reply:
    """Append the only batch of a request that is acknowledged once it is written; None where that is not so simple.

    What small requests are: without an operation, and all that it remembers for others, they take a fifth less time.
    """
    transactional_id, acks, _, topics = request
    if len(topics) != 1 or context.version < _FIRST_WITH_ZSTD:
        return None
    (topic, parts), broker = topics[0], context.broker
    if len(parts) != 1:
        return None
    index, records = parts[0]
    partition = broker.partitions.find(topic, index)
    if (
        partition is None
        or not partition.acknowledges_at_once(acks)
        or partition.tp.topic in INTERNAL_TOPICS
    ):
        return None
    now_ms = broker.now_ms()
    try:
        batch = validate_at_once(
            records, partition.log.config, now_ms, deep=broker.settings.deep_validation
        )
        if batch is None:
            return None
        header, _, log_append_time_ms = batch
        if (transactional_id is not None or header.attributes & TRANSACTIONAL_FLAG) and not _enters(
            context, transactional_id, header, partition
        ):
            return None
        base_offset, _, log_start, _ = partition.append(batch, now_ms)
    except (ApiError, StorageError) as failure:
        if transactional_id is not None:
            return None  # a partition joins the transaction although nothing could be written to it
        return _Produce(context, request).fail(topic, index, failure)
    return encode_one_success(
        context.correlation_id,
        context.version,
        topic,
        (index, 0, base_offset, log_append_time_ms, log_start),
    )


def _enters(
    context: RequestContext,
    transactional_id: str | None,
    header: BatchHeader,
    partition: Partition,
) -> bool:
    return (
        transactional_id is not None
        and header.attributes & TRANSACTIONAL_FLAG != 0
        and transaction_entry.enter_at_once(
            context.broker,
            transactional_id,
            Producer(header.producer_id, header.producer_epoch),
            partition,
            adds=context.version >= _FIRST_THAT_ADDS,
        )
    )


class _Produce:
    """One request under way."""

    __slots__ = (
        "acks", "awaited", "context", "entered", "entries", "failed", "now_ms", "pending", "results", "timeout_ms",
        "timer", "topics", "transactional_id",
    )  # fmt: skip

    def __init__(self, context: RequestContext, request: ProduceRequest) -> None:
        self.context = context
        self.transactional_id, self.acks, self.timeout_ms, self.topics = request
        self.now_ms = context.broker.now_ms()
        self.results: Results = []
        self.failed = False
        # Where in the results the acknowledgement is still out.
        self.awaited: set[tuple[int, int]] = set()
        self.pending: Pending | None = None
        self.timer: TimerHandle | None = None
        # What the coordinator has said of partitions that were new to the transaction.
        self.entered: dict[TopicPartition, ApiError | None] = {}
        # Whether that still holds when they are appended.
        self.entries: dict[TopicPartition, Entry] = {}

    def refuse(self, error: int, message: str) -> Reply:
        self.results = [
            (topic, [PartitionResult(index, error, error_message=message) for index, _ in parts])
            for topic, parts in self.topics
        ]
        return self._encoded()

    def fail(self, topic: str | bytes, index: int, failure: ApiError | StorageError) -> Reply:
        self.results = [(topic, [self._failed(index, failure)])]
        return self._encoded()

    def enter_transaction(self, transactional_id: str) -> Reply:
        """Add the partitions that are new to the transaction; what cannot be added is refused when it is appended."""
        awaited = []
        broker = self.context.broker
        adds = self.context.version >= _FIRST_THAT_ADDS
        enter = transaction_entry.add if adds else transaction_entry.verify
        is_here = transaction_entry.is_coordinated_here(broker, transactional_id)
        for producer, partitions in self._not_entered().items():
            self.entries.update((tp, Entry(broker, producer, tp)) for tp in partitions)
            entered = broker.loop.create_future()
            enter(broker, transactional_id, producer, partitions, partial(_tell, entered))
            if entered.done():
                self._note_entry(partitions, is_here, entered)
            else:
                awaited.append(entered)
                entered.add_done_callback(partial(self._note_entry, partitions, is_here))
        if not awaited:
            return self.run()
        self.results.append((self.topics[0][0], []))
        return self._go_on_beside_the_loop(awaited)

    def _note_entry(
        self, partitions: set[TopicPartition], is_here: bool, entered: Future[ApiError | None]
    ) -> None:
        if entered.cancelled():
            return
        refusal = entered.result()
        # What this broker coordinates itself is looked up again when it is appended. A refusal would be
        # forgotten by then: that the partition is not in the transaction, and not that trying again may help.
        if refusal is not None or not is_here:
            self.entered.update(dict.fromkeys(partitions, refusal))

    def _not_entered(self) -> dict[Producer, set[TopicPartition]]:
        wanted: dict[Producer, set[TopicPartition]] = {}
        for topic, parts in self.topics:
            for index, records in parts:
                partition = self.context.broker.partitions.find(topic, index)
                if partition is None or len(records) < HEADER_SIZE:
                    continue
                header = parse_header(records)
                producer = Producer(header.producer_id, header.producer_epoch)
                if header.attributes & TRANSACTIONAL_FLAG and not _continues(partition, producer):
                    wanted.setdefault(producer, set()).add(partition.tp)
        return wanted

    def run(self) -> Reply:
        """Append everything in this callback, unless a batch needs a look inside that takes long."""
        deep = self.context.broker.settings.deep_validation
        may_be_zstd = self.context.version >= _FIRST_WITH_ZSTD
        for topic, parts in self.topics:
            results: list[PartitionResult] = []
            self.results.append((topic, results))
            for index, records in parts:
                try:
                    partition = self._leader(topic, index)
                    if not may_be_zstd:
                        self._refuse_zstd(records)
                    config = partition.log.config
                    batch = validate_at_once(records, config, self.now_ms, deep=deep)
                    if batch is None:
                        return self._go_on_beside_the_loop()
                    results.append(self._append(partition, batch, results))
                except (ApiError, StorageError) as failure:
                    results.append(self._failed(index, failure))
        return self._reply()

    def _leader(self, topic: str | bytes, index: int) -> Partition:
        partition = self.context.broker.partitions.leader(topic, index)
        if partition.tp.topic in INTERNAL_TOPICS and self.context.client_id != _ADMIN_CLIENT:
            raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, "coordinators alone write here")
        if self.acks == _ALL:
            partition.check_in_sync()
        return partition

    def _refuse_zstd(self, records: memoryview) -> None:
        if len(records) >= HEADER_SIZE and parse_header(records).codec == Codec.ZSTD:
            raise ApiError(
                ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, "zstd needs Produce v7; upgrade the client"
            )

    def _append(
        self, partition: Partition, batch: ValidatedBatch, results: list[PartitionResult]
    ) -> PartitionResult:
        header, _, log_append_time_ms = batch
        if header.attributes & TRANSACTIONAL_FLAG:
            self._check_transaction(partition, header)
        elif self.transactional_id is not None:
            raise _outside_its_transaction(self.transactional_id)
        base_offset, last_offset, log_start, _ = partition.append(batch, self.now_ms)
        if partition.log.high_watermark <= last_offset and self._waits(partition):
            # At once: while other partitions are looked into, this one may be committed, or lost.
            place = len(self.results) - 1, len(results)
            self.awaited.add(place)
            when = partition.when_committed if self.acks == _ALL else partition.when_held
            when(last_offset + 1, partial(self._committed, place))
        return PartitionResult(
            partition.tp.partition, 0, base_offset, log_append_time_ms, log_start
        )

    def _check_transaction(self, partition: Partition, header: BatchHeader) -> None:
        """A transactional batch that no transaction would end must not get into the log (KIP-890)."""
        if self.transactional_id is None:
            raise _without_an_id()
        producer = Producer(header.producer_id, header.producer_epoch)
        if _continues(partition, producer):
            return
        broker, version = self.context.broker, self.context.version
        adds = version >= _FIRST_THAT_ADDS
        if (
            not adds
            and not broker.settings.now.transactions.transaction_partition_verification_enable
        ):
            return
        try:
            if partition.tp not in self.entered:
                transaction_entry.check(broker, self.transactional_id, producer, partition.tp)
            elif (refusal := self.entered[partition.tp]) is not None:
                raise refusal
            elif not (entry := self.entries[partition.tp]).still_counts():
                raise entry.refusal()
        except ApiError as refused:
            raise transaction_entry.told(
                refused,
                adds=adds,
                knows_abortable=version >= _FIRST_WITH_ABORTABLE,
                unavailable=ErrorCode.NOT_ENOUGH_REPLICAS,
            ) from None

    def _failed(self, index: int, failure: ApiError | StorageError) -> PartitionResult:
        self.failed = True
        code = error_code_of(failure)
        metrics.PRODUCE_ERRORS.labels(error=ErrorCode(code).name).value += 1
        if isinstance(failure, InvalidRecords):
            return PartitionResult(
                index, code, record_errors=tuple(failure.record_errors), error_message=str(failure)
            )
        return PartitionResult(index, code, error_message=str(failure))

    def _name_leaders(self) -> list[Node]:
        """Say of partitions that moved who leads them; where those are reached."""
        image, leaders = self.context.broker.metadata.image, set()
        for topic, results in self.results:
            for place, result in enumerate(results):
                hint = leader_hint(image, topic, result.partition, result.error)
                if hint is not None:
                    leaders.add(hint[0])
                    results[place] = result._replace(current_leader=hint)
        return hinted_nodes(image, self.context.connection.listener, leaders)

    def _waits(self, partition: Partition) -> bool:
        return self.acks == _ALL or (self.acks == 1 and partition.syncs_every_batch)

    def _reply(self) -> Reply:
        if not self.awaited:
            return self._encoded()
        pending = self.pending = self.pending or Pending(blocking=False)
        self.topics = []  # many may wait: none of them keeps its frame
        self.timer = self.context.broker.loop.call_later(self.timeout_ms / 1000, self._time_out)
        pending.on_cancel = self.timer.cancel
        pending.unblock()
        return pending

    def _committed(self, place: tuple[int, int], error: int) -> None:
        if place not in self.awaited:
            return  # too late: the client has been told so
        self.awaited.discard(place)
        if error:
            self._fail(place, error)
        timer = self.timer
        if not self.awaited and timer is not None and self.pending is not None:
            self.timer = None
            timer.cancel()
            self.pending.resolve(self._encoded())

    def _fail(self, place: tuple[int, int], error: int) -> None:
        self.failed = True
        results = self.results[place[0]][1]
        results[place[1]] = PartitionResult(results[place[1]].partition, error)

    def _time_out(self) -> None:
        for place in self.awaited:
            self._fail(place, ErrorCode.REQUEST_TIMED_OUT)
        self.awaited.clear()
        self.timer = None
        if self.pending is not None:
            self.pending.resolve(self._encoded())

    def _encoded(self) -> Buffers | None:
        if self.acks != 0:
            endpoints = self._name_leaders() if self.failed else ()
            return encode_produce_response(
                self.context.correlation_id, self.context.version, self.results, endpoints
            )
        for topic, results in self.results:
            for result in results:
                if result.error:
                    # Nobody reads a reply to acks=0; a closed connection makes the client look around.
                    name = ErrorCode(result.error).name
                    raise CloseConnection(f"acks=0: {topic!r}-{result.partition} answered {name}")
        return None

    def _go_on_beside_the_loop(self, after: Sequence[Awaitable[Any]] = ()) -> Pending:
        """Validate the rest in a thread; until it has appended, no request behind it starts."""
        done = len(self.results[-1][1])
        rest: Topics = []
        for topic, parts in self.topics[len(self.results) - 1 :]:
            # Copied, since the views die with this callback.
            left = [(index, memoryview(bytearray(records))) for index, records in parts[done:]]
            rest.append((topic, left))
            done = 0
        self.topics = []
        self.pending = Pending(blocking=True)
        metrics.VALIDATED_BESIDE_THE_LOOP.value += 1
        self.context.go_on(self._append_rest(rest, self.pending, after))
        return self.pending

    async def _append_rest(
        self, rest: Topics, pending: Pending, after: Sequence[Awaitable[Any]]
    ) -> None:
        for each in after:
            await each
        for number, (topic, parts) in enumerate(rest):
            if number:
                self.results.append((topic, []))
            results = self.results[-1][1]
            for index, records in parts:
                try:
                    results.append(await self._append_one(topic, index, records, results))
                except (ApiError, StorageError) as failure:
                    results.append(self._failed(index, failure))
        reply = self._reply()
        if not isinstance(reply, Pending):
            pending.resolve(reply)

    async def _append_one(
        self, topic: str | bytes, index: int, records: memoryview, results: list[PartitionResult]
    ) -> PartitionResult:
        broker = self.context.broker
        config = self._leader(topic, index).log.config
        if self.context.version < _FIRST_WITH_ZSTD:
            self._refuse_zstd(records)
        deep = broker.settings.deep_validation
        validate = partial(validate_produced, records, config, self.now_ms, deep=deep)
        batch = await broker.loop.run_in_executor(broker.executor, validate)
        # Looked up again: the leader may have changed while the thread ran.
        return self._append(self._leader(topic, index), batch, results)


def _tell(entered: Future[ApiError | None], refusal: ApiError | None) -> None:
    """What the coordinator says, unless this broker stops, and those who wait for it have been let go."""
    if not entered.done():
        entered.set_result(refusal)


def _continues(partition: Partition, producer: Producer) -> bool:
    """Whether a transaction is open here already, so that nobody needs to be asked."""
    return partition.log.producers.in_transaction(*producer)


def _outside_its_transaction(transactional_id: str) -> ApiError:
    """Such a batch would be visible whatever becomes of the transaction, and no marker would end it."""
    return ApiError(
        ErrorCode.INVALID_TXN_STATE,
        f"the producer of {transactional_id!r} sent a batch without the transactional flag",
    )


def _without_an_id() -> ApiError:
    return ApiError(
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "transactional records need an id"
    )

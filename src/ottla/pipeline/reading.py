"""What a task does: fetch a range of one partition and yield it as Arrow record batches.

The next fetch is on its way while the last one is decoded and taken by Spark, so a task holds one
fetch, its rows, and what the kernel has received of the next.
"""

from __future__ import annotations

import random
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from struct import Struct
from typing import TYPE_CHECKING, Final
from uuid import UUID

from ottla.base.errors import ApiError, OttlaError, ProtocolError
from ottla.base.ids import ZERO_ID
from ottla.base.units import MiB
from ottla.client.errors import check, is_retriable
from ottla.pipeline.offsets import EARLIEST, LATEST
from ottla.pipeline.reading_brokers import WorkerBrokers, brokers_for
from ottla.pipeline.reading_socket import BrokerSocket
from ottla.pipeline.source_ranges import Range
from ottla.pipeline.worker_memory import keep_memory
from ottla.pipeline.worker_settling import settle
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData
from ottla.protocol.errors import ErrorCode
from ottla.protocol.records.batch import HEADER_SIZE, LOG_OVERHEAD

if TYPE_CHECKING:
    import pyarrow as pa

FETCH_BYTES: Final = 4 * MiB
"""Large enough that a fetch is a good Arrow batch, small enough for many tasks on a machine."""
ROWS_BYTES: Final = 32 * MiB
"""What compresses well grows when it is decoded; a record batch for Spark holds no more than this."""
_LAST_BY_NAME: Final = 12
_UNKNOWN: Final = frozenset(
    (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
    )
)
"""Of a topic that was deleted; one of the same name that was made since has another id."""
_DELETED_AFTER_MS: Final = 5_000
"""How long a topic may be unknown to its brokers before it counts as deleted."""
_OFFSET_AND_LENGTH: Final = Struct(">qi")
_LAST_DELTA: Final = Struct(">i")
_LAST_DELTA_POS: Final = 23


class DataLoss(OttlaError):
    """Records that were to be read are gone."""


class _NothingYet(OttlaError):
    """The leader has nothing for readers where something was promised."""


class _Shorter(_NothingYet):
    """Its log ends before what was promised."""


@dataclass(frozen=True)
class Reading:
    """How ranges are read; it travels to the workers."""

    client: Mapping[str, str] = field(repr=False)  # passwords are among them
    read_committed: bool
    headers: bool
    fail_on_data_loss: bool
    timeout_ms: int


def read_range(what: Range, how: Reading, topic_id: UUID | None = None) -> Iterator[pa.RecordBatch]:
    """The records of a range, a record batch for each fetch; only of the topic with that id if there is one."""
    keep_memory()
    return iter(_RangeReader(what, how, brokers_for(how.client), topic_id))


class _RangeReader:
    def __init__(
        self, what: Range, how: Reading, brokers: WorkerBrokers, topic_id: UUID | None
    ) -> None:
        self._partition = what.partition
        self._position, self._end = what.start, what.end
        self._how = how
        self._topic_id = topic_id
        self._brokers = brokers
        self._link: BrokerSocket | None = None
        self._sent_for = -1
        sizes = (how.client.get("max.partition.fetch.bytes"), how.client.get("fetch.max.bytes"))
        self._fetch_bytes = min((int(size) for size in sizes if size), default=FETCH_BYTES)
        self._wait_ms = int(how.client.get("fetch.max.wait.ms", 500))

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            while self._position < self._end:
                data = self._fetched()
                if data is None:
                    return
                reached = end_offset(data.records or b"", self._position)
                if reached <= self._position:
                    raise self._corrupt(self._position, "it is not whole")
                if reached < self._end:
                    self._send(reached)
                yield from self._decoded(data, reached)
                self._position = reached
        finally:
            if self._link is not None:
                self._brokers.give_back(self._link)
            settle()

    # --- fetching

    def _fetched(self) -> PartitionData | None:
        """What the leader has from the position on; None where nothing of the range is left."""
        began, attempt = time.monotonic(), 0
        while True:
            try:
                data = self._attempt()
                if data is None or data.records:
                    return data
                failure: Exception = self._nothing(data)
            except DataLoss:
                raise
            except OttlaError as error:
                self._drop_link()
                failure = error
            waited_ms = (time.monotonic() - began) * 1000
            if not self._worth_waiting(failure, waited_ms):
                if self._may_pass_over(failure):
                    return None
                raise self._explained(failure, waited_ms) from failure
            self._brokers.forget(self._partition)
            attempt += 1
            time.sleep(min(1.0, 0.05 * 2 ** min(attempt, 5)) * random.uniform(0.8, 1.2))

    def _nothing(self, data: PartitionData) -> _NothingYet:
        if self._how.read_committed and data.high_watermark >= self._end:
            return _NothingYet(
                f"a transaction is still open at offset {data.last_stable_offset}, before the end of "
                f"this read at {self._end}; see ottla doctor or kafka-transactions for who holds it"
            )
        return _Shorter(
            f"its log reaches to offset {data.high_watermark} now, though it reached to "
            f"{self._end} when this read was planned"
        )

    def _attempt(self) -> PartitionData | None:
        if self._sent_for != self._position:
            self._send(self._position)
        assert self._link is not None
        self._sent_for = -1
        timeout_s = (self._brokers.settings.request_timeout_ms + self._wait_ms) / 1000
        answer = self._link.receive(timeout_s)
        check(answer.error_code)
        data: PartitionData = answer.responses[0].partitions[0]
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            return self._attempt() if self._skip_lost() else None
        check(data.error_code)
        return data

    def _send(self, offset: int) -> None:
        try:
            if self._link is None or self._link.in_flight:
                self._drop_link()
                self._link = self._brokers.take(self._brokers.leader(self._partition))
            last = _LAST_BY_NAME if self._topic_id is None else None
            version = self._link.version_of(ApiKey.FETCH, last)
            self._link.send(self._request(offset), version)
            self._sent_for = offset
        except OttlaError:
            self._drop_link()
            # One that was sent ahead is sent again when it is needed, and then fails with reason.
            if offset == self._position:
                raise

    def _request(self, offset: int) -> FetchRequest:
        topic, number = self._partition
        wanted = FetchPartition(
            partition=number, fetch_offset=offset, partition_max_bytes=self._fetch_bytes
        )
        return FetchRequest(
            max_wait_ms=self._wait_ms,
            min_bytes=1,
            max_bytes=self._fetch_bytes,
            isolation_level=int(self._how.read_committed),
            topics=[
                FetchTopic(topic=topic, topic_id=self._topic_id or ZERO_ID, partitions=[wanted])
            ],
        )

    def _drop_link(self) -> None:
        if self._link is not None:
            self._link.close()
        self._link, self._sent_for = None, -1

    # --- decoding

    def _decoded(self, data: PartitionData, reached: int) -> Iterator[pa.RecordBatch]:
        from ottla.pipeline.decoding import decode

        aborted = None
        if self._how.read_committed:
            aborted = [(a.producer_id, a.first_offset) for a in data.aborted_transactions or ()]
        records, position = data.records or b"", self._position
        stop = min(reached, self._end)
        while position < stop:
            try:
                decoded = decode(
                    records,
                    *self._partition,
                    position,
                    self._end,
                    aborted,
                    self._how.headers,
                    limit_bytes=ROWS_BYTES,
                )
            except ProtocolError as error:
                raise self._corrupt(position, str(error)) from error
            if decoded.batch is not None and decoded.batch.num_rows:
                yield decoded.batch
            if decoded.next_offset <= position:
                raise self._corrupt(position, "it has no end")
            position = decoded.next_offset

    # --- what goes wrong

    def _skip_lost(self) -> bool:
        """Move to the first offset there is, if that is allowed; whether any of the range is left."""
        earliest = self._brokers.list_offset(self._partition, EARLIEST, self._how.read_committed)
        latest = self._brokers.list_offset(self._partition, LATEST, self._how.read_committed)
        lost = (
            f"offsets {self._position} to {self._end - 1} of {self._partition} were to be read, but "
            f"its log holds {earliest} to {latest - 1} only; retention or a deletion came first"
        )
        if self._how.fail_on_data_loss:
            raise DataLoss(f"{lost}. {HOW_TO_ACCEPT_LOSS}")
        warnings.warn(f"{lost}; what is gone is passed over", stacklevel=2)
        if not self._position < earliest < self._end:
            return False
        self._position = earliest
        return True

    def _worth_waiting(self, failure: Exception, waited_ms: float) -> bool:
        if _is_unknown(failure):
            return waited_ms < min(_DELETED_AFTER_MS, self._how.timeout_ms)
        passing = isinstance(failure, _NothingYet) or is_retriable(failure)
        return passing and waited_ms < self._how.timeout_ms

    def _may_pass_over(self, failure: Exception) -> bool:
        if self._how.fail_on_data_loss:
            return False
        if _is_unknown(failure):
            warnings.warn(f"{self._partition} was deleted, and is passed over", stacklevel=2)
            return True
        if isinstance(failure, _Shorter):
            said = f"{self._partition} is shorter than it was: {failure}"
            warnings.warn(f"{said}; what is gone is passed over", stacklevel=2)
            return True
        return False

    def _corrupt(self, position: int, why: str) -> ProtocolError:
        return ProtocolError(
            f"{self._partition} holds a corrupt batch at or after offset {position}: {why}; ask the "
            "broker's operator to check its disk, or read from behind that batch with startingOffsets"
        )

    def _explained(self, failure: Exception, waited_ms: float) -> Exception:
        where = f"{self._partition} could not be read from offset {self._position} on"
        if _is_unknown(failure):
            return DataLoss(f"{where}: the topic was deleted. {HOW_TO_ACCEPT_LOSS}")
        if isinstance(failure, _Shorter):
            return DataLoss(f"{where}: {failure}. {HOW_TO_ACCEPT_LOSS}")
        return OttlaError(
            f"{where}, within {waited_ms:.0f} ms: {failure}; kafkaConsumer.pollTimeoutMs is the longest wait"
        )


HOW_TO_ACCEPT_LOSS: Final = (
    "Set the option failOnDataLoss to false to go on without them, or begin elsewhere with "
    "startingOffsets and, for a stream, a new checkpointLocation"
)


def _is_unknown(failure: Exception) -> bool:
    return isinstance(failure, ApiError) and failure.code in _UNKNOWN


def end_offset(records: bytes | bytearray | memoryview, position: int) -> int:
    """The offset behind the last whole batch; only headers are looked at."""
    pos, size, reached = 0, len(records), position
    while size - pos >= HEADER_SIZE:
        base_offset, length = _OFFSET_AND_LENGTH.unpack_from(records, pos)
        if length <= 0 or length + LOG_OVERHEAD > size - pos:
            break
        (delta,) = _LAST_DELTA.unpack_from(records, pos + _LAST_DELTA_POS)
        reached = max(reached, base_offset + delta + 1)
        pos += length + LOG_OVERHEAD
    return reached

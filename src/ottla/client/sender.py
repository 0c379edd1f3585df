"""Sends batches to the leaders of their partitions, and tells everybody what became of them."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Protocol, TypeAlias

from ottla.base.errors import ApiError, OttlaError
from ottla.base.ids import TopicPartition
from ottla.client.accumulator import NEVER_MS, Accumulator
from ottla.client.cluster import Cluster
from ottla.client.connection import Connection
from ottla.client.delivery import Outcome
from ottla.client.errors import (
    ClientError,
    ConnectionLost,
    RequestTimedOut,
    api_error,
    error_code,
    is_retriable,
)
from ottla.client.partition_queue import ANONYMOUS, Batch, Identity, PartitionQueue
from ottla.client.produce_routes import Line, Routes
from ottla.client.produce_verdict import STALE_METADATA, Verdict, in_doubt, verdict
from ottla.client.producer_settings import ProducerSettings
from ottla.client.retry import JITTER
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.init_producer_id import InitProducerIdRequest
from ottla.protocol.apis.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from ottla.protocol.encoders import encoder
from ottla.protocol.errors import ErrorCode
from ottla.protocol.records.compression import Codec

LAST_BY_NAME: Final = 12
"""Versions behind it name topics by id, which a producer has no need of."""
LAST_WITHOUT_IMPLICIT_ADD: Final = 11
_LAST_EPOCH: Final = 2**15 - 2
_SOON_MS: Final = 20

Produced: TypeAlias = Batch[Outcome]


class Gate(Protocol):
    """What a transaction has to say about batches before and after they are sent."""

    implicit_add: bool

    def open_for(self, target: TopicPartition) -> bool:
        """Whether a batch for the partition may be sent now; if not, `wake` follows when it may."""

    def may_retry(self) -> bool:
        """Whether a batch that failed may be sent again."""

    def failed(self, error: Exception) -> None:
        """A batch of the transaction was given up."""


class Sender:
    """Takes ready batches out of the accumulator; all of it runs in the thread of the loop.

    The lock keeps the accumulator from threads that append; nothing is awaited or called back under it.
    """

    def __init__(
        self,
        cluster: Cluster,
        settings: ProducerSettings,
        accumulator: Accumulator[Outcome],
        lock: threading.Lock,
    ) -> None:
        self.gate: Gate | None = None
        self.room = asyncio.Event()
        self.routes = Routes(cluster, accumulator, self.wake, self._fail_all)
        self._cluster = cluster
        self._settings = settings
        self._accumulator = accumulator
        self._lock = lock
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False
        self._scheduled = False
        self._identifying = False
        self._codec = Codec[settings.compression_type.upper()]
        self._level = settings.compression_level

    def under_lock(self, change: Callable[[], None]) -> None:
        """Change what threads that append look at, while none of them does."""
        with self._lock:
            change()

    # --- when to look

    def wake(self) -> None:
        """Look for work at the next turn of the loop."""
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._pump)

    def wake_from_thread(self) -> None:
        """The same, from any thread."""
        if not self._scheduled:
            self._scheduled = True
            # A loop that was closed meanwhile sends nothing, and closing has told what became of each record.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._pump)

    async def flush(self) -> None:
        """Send everything now, and wait until it is written or given up."""
        if self._closed:
            return
        with self._lock:
            self._accumulator.flushing += 1
            outcomes = [batch.outcome for batch in self._accumulator.unfinished()]
        try:
            self.wake()
            for outcome in outcomes:
                await outcome.settled()
        finally:
            self._accumulator.flushing -= 1

    async def close(self) -> None:
        """Stop sending; whoever waits for what is not written hears that it may never be."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        self.drop(OttlaError("the producer was closed before the record was written"))
        with self._lock:
            in_flight = self._accumulator.unfinished()
        unknown = OttlaError(
            "the producer was closed before the broker answered; whether the record was written is unknown"
        )
        for batch in in_flight:
            batch.outcome.resolve(-1, -1, unknown)
        await self.routes.close()

    def _pump(self) -> None:
        self._scheduled = False
        if self._closed:
            return
        if self._settings.enable_idempotence and self._accumulator.identity is ANONYMOUS:
            self._identify()
            return
        # Rounded: a timer that is due may otherwise find that it is a billionth of a millisecond early.
        now_ms = round(self._loop.time() * 1000, 3)
        self.routes.refresh_if_old()
        with self._lock:
            late = list(self._accumulator.expired(int(now_ms)))
            requests: list[tuple[Line, list[Produced]]] = []
            next_ms = self._plan(now_ms, requests)
        for line, batches in requests:
            self._send(line, batches)
        for batch in late:
            if self._has_place(batch):
                self._bump()
            self._give_up(batch, self._too_late(batch))
        self._look_again_at(next_ms)

    def _look_again_at(self, at_ms: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if at_ms < NEVER_MS:
            self._timer = self._loop.call_at(at_ms / 1000, self._pump)

    # --- what to send

    def _plan(self, now_ms: float, requests: list[tuple[Line, list[Produced]]]) -> float:
        """Fills in the requests to send now; when to look again if nothing else happens before."""
        accumulator = self._accumulator
        next_ms = accumulator.next_expiry_ms()
        open_requests: dict[Line, tuple[list[Produced], int]] = {}
        again = True
        while again:
            again = False
            open_requests.clear()
            for queue in accumulator.busy():
                at_ms = accumulator.ready_at_ms(queue)
                if at_ms > now_ms:
                    next_ms = min(next_ms, at_ms)
                elif self._plan_one(queue, open_requests, requests):
                    again = True
        return next_ms

    def _plan_one(
        self,
        queue: PartitionQueue[Outcome],
        open_requests: dict[Line, tuple[list[Produced], int]],
        requests: list[tuple[Line, list[Produced]]],
    ) -> bool:
        if self.gate is not None and not self.gate.open_for(queue.target):
            return False
        line = self.routes.line_to(queue.target)
        if line is None:
            return False
        batches, size = open_requests.get(line, ([], 0))
        size += queue.waiting[0].encoder.size_bytes
        most = self._settings.max_request_size
        if not batches or size > most:
            if line.in_flight >= self._settings.max_in_flight_requests_per_connection:
                return False
            batches, size = [], queue.waiting[0].encoder.size_bytes
        batch = self._accumulator.take(queue)
        if batch is None:
            return False
        if not batches:
            line.in_flight += 1
            requests.append((line, batches))
        batches.append(batch)
        open_requests[line] = (batches, size)
        return True

    # --- sending and hearing

    def _send(self, line: Line, batches: list[Produced]) -> None:
        connection = line.connection
        assert connection is not None  # `_plan_one` has looked
        implicit = self.gate is None or self.gate.implicit_add
        request = self._request(batches)
        try:
            last = LAST_BY_NAME if implicit else LAST_WITHOUT_IMPLICIT_ADD
            version = connection.version_of(ApiKey.PRODUCE, last)
            if self._settings.acks == 0:
                body = bytearray()
                flexible = version >= ApiKey.PRODUCE.flexible_since
                encoder(ProduceRequest, version, flexible)(request, body)
                connection.send_unanswered(ApiKey.PRODUCE, version, [body])
                self._answered(line, batches, None, None)
                return
            future = connection.send(request, version=version)
        except ClientError as error:
            self._answered(line, batches, None, error)
            return
        timeout_s = self._settings.request_timeout_ms / 1000
        timer = self._loop.call_later(timeout_s, self._time_out, connection, future)

        def heard(done: asyncio.Future[Any]) -> None:
            timer.cancel()
            error = done.exception()
            failure = error if isinstance(error, Exception) else None
            self._answered(line, batches, None if failure else done.result(), failure)

        future.add_done_callback(heard)

    def _request(self, batches: list[Produced]) -> ProduceRequest:
        topics: dict[str, list[PartitionProduceData]] = {}
        for batch in batches:
            data = PartitionProduceData(
                index=batch.target.partition, records=batch.encode(self._codec, self._level)
            )
            topics.setdefault(batch.target.topic, []).append(data)
        return ProduceRequest(
            transactional_id=self._settings.transactional_id,
            acks=self._settings.acks,
            timeout_ms=self._settings.request_timeout_ms,
            topic_data=[
                TopicProduceData(name=name, partition_data=data) for name, data in topics.items()
            ],
        )

    def _time_out(self, connection: Connection, future: asyncio.Future[Any]) -> None:
        if not future.done():
            timeout_ms = self._settings.request_timeout_ms
            future.set_exception(
                RequestTimedOut(
                    f"{connection.address} did not answer Produce within {timeout_ms} ms; "
                    "the broker may be overloaded or stopped"
                )
            )
            # Answers come in order: those behind it on this connection would be stuck as well.
            self.routes.spawn(connection.close())

    def _answered(
        self,
        line: Line,
        batches: list[Produced],
        response: ProduceResponse | None,
        error: Exception | None,
    ) -> None:
        line.in_flight -= 1
        if self._closed:
            return
        resolutions: list[Callable[[], None]] = []
        answers = {
            TopicPartition(topic.name, part.index): part
            for topic in (response.responses if response is not None else ())
            for part in topic.partition_responses
        }
        if error is not None:
            self.routes.refresh()
        with self._lock:
            for batch in batches:
                answer = answers.get(batch.target)
                if error is not None:
                    self._unheard(batch, error, resolutions)
                elif response is None:
                    self._written(batch, -1, -1, resolutions)
                elif answer is not None:
                    self._judge(batch, answer, resolutions)
                else:
                    lost = ConnectionLost("the broker's answer to Produce lacks a partition")
                    self._unheard(batch, lost, resolutions)
        for resolve in resolutions:
            resolve()
        if self._accumulator.buffered_bytes < self._settings.buffer_memory:
            self.room.set()
        if not self._scheduled:
            self._pump()

    def _judge(
        self,
        batch: Produced,
        answer: PartitionProduceResponse,
        resolutions: list[Callable[[], None]],
    ) -> None:
        code = answer.error_code
        # A batch of an earlier epoch may well be out of order: one in front of it was given up.
        current = batch.identity == self._accumulator.identity
        ruling = verdict(
            code,
            oldest=current and self._accumulator.queues[batch.target].is_oldest(batch),
            transactional=self.gate is not None,
            may_retry=self._may_retry(batch),
            records=batch.encoder.count,
        )
        if ruling is Verdict.WRITTEN:
            self._written(batch, answer.base_offset, answer.log_append_time_ms, resolutions)
            return
        if code in STALE_METADATA:
            self.routes.refresh()
        if ruling is Verdict.FAILED:
            self._fail(batch, api_error(code, answer.error_message), resolutions)
            return
        if ruling is Verdict.IN_PARTS:
            self._accumulator.split(batch, batch.outcome.split(batch.encoder.count // 2))
            return
        batch.in_doubt = in_doubt(code, batch.in_doubt)
        batch.why = api_error(code, answer.error_message)
        if ruling is Verdict.NEW_EPOCH and current:
            self._bump()
        self._again(batch, code)

    def _unheard(
        self, batch: Produced, error: Exception, resolutions: list[Callable[[], None]]
    ) -> None:
        batch.in_doubt, batch.why = True, error
        if is_retriable(error) and self._may_retry(batch):
            self._again(batch)
        else:
            self._fail(batch, error, resolutions)

    def _may_retry(self, batch: Produced) -> bool:
        age_ms = self._loop.time() * 1000 - batch.created_ms
        settings = self._settings
        return (
            batch.attempts <= settings.retries
            and age_ms < settings.delivery_timeout_ms
            and (self.gate is None or self.gate.may_retry())
        )

    def _again(self, batch: Produced, code: int = ErrorCode.NONE) -> None:
        settings = self._settings
        if code == ErrorCode.CONCURRENT_TRANSACTIONS:
            # The end of the last transaction is nearly always written a few milliseconds later.
            self._accumulator.retry(batch, int(self._loop.time() * 1000 + _SOON_MS))
            return
        grown = settings.retry_backoff_ms * 2 ** min(batch.attempts - 1, 30)
        wait_ms = min(grown, settings.retry_backoff_max_ms) * random.uniform(1 - JITTER, 1 + JITTER)
        self._accumulator.retry(batch, int(self._loop.time() * 1000 + wait_ms))

    def _written(
        self,
        batch: Produced,
        base_offset: int,
        log_append_ms: int,
        resolutions: list[Callable[[], None]],
    ) -> None:
        self._accumulator.done(batch)
        resolutions.append(lambda: batch.outcome.resolve(base_offset, log_append_ms, None))

    def _fail(
        self, batch: Produced, error: Exception, resolutions: list[Callable[[], None]]
    ) -> None:
        self._accumulator.done(batch)
        if self._has_place(batch):
            self._bump()
        resolutions.append(lambda: self._give_up(batch, error))

    def _give_up(self, batch: Produced, error: Exception) -> None:
        if self.gate is not None:
            self.gate.failed(error)
        batch.outcome.resolve(-1, -1, error)
        self.room.set()

    def _too_late(self, batch: Produced) -> RequestTimedOut:
        why = "check that the leader of the partition can be reached"
        if isinstance(batch.why, ApiError):
            why = f"the broker's last answer was {error_code(batch.why.code).name}: {batch.why}"
        elif batch.why is not None:
            why = f"the last attempt failed: {batch.why}"
        return RequestTimedOut(
            f"{batch.encoder.count} records for {batch.target} were not written within "
            f"delivery.timeout.ms={self._settings.delivery_timeout_ms}; {why}"
        )

    # --- who this producer is

    @property
    def identity(self) -> Identity:
        """The producer id and epoch of what will be sent next."""
        return self._accumulator.identity

    @identity.setter
    def identity(self, identity: Identity) -> None:
        self._accumulator.identity = identity

    def _bump(self) -> None:
        """A gap in the sequences cannot be filled: go on with the next epoch (KIP-360)."""
        if self.gate is not None:
            return  # the end of the transaction brings the next epoch
        producer_id, epoch = self._accumulator.identity
        bumped = Identity(producer_id, epoch + 1)
        self._accumulator.identity = ANONYMOUS if epoch >= _LAST_EPOCH else bumped

    def _identify(self) -> None:
        if self.gate is None and not self._identifying:
            self._identifying = True
            self.routes.spawn(self._init_producer_id())

    async def _init_producer_id(self) -> None:
        request = InitProducerIdRequest(
            transactional_id=None,
            transaction_timeout_ms=self._settings.transaction_timeout_ms,
            producer_id=-1,
            producer_epoch=-1,
        )

        async def attempt() -> Identity:
            response = await self._cluster.ask(request)
            if response.error_code:
                raise api_error(response.error_code)
            return Identity(response.producer_id, response.producer_epoch)

        try:
            self._accumulator.identity = await self._cluster.retried(
                attempt, timeout_ms=self._settings.delivery_timeout_ms
            )
        except OttlaError as error:
            self._fail_all(error)
        finally:
            self._identifying = False
        self.wake()

    def _fail_all(self, error: Exception) -> None:
        """Give up all that is not in flight, since nothing can be sent; a transaction hears of it."""
        with self._lock:
            dropped = list(self._accumulator.dropped())
            if any(self._has_place(batch) for batch in dropped):
                self._bump()
        for batch in dropped:
            self._give_up(batch, error)

    def _has_place(self, batch: Produced) -> bool:
        """Whether the batch leaves a gap in the present order if it is given up."""
        return batch.identity is not ANONYMOUS and batch.identity == self._accumulator.identity

    def drop(self, error: Exception) -> bool:
        """Give up all that is not in flight; says whether any of it had its place in the order."""
        with self._lock:
            dropped = list(self._accumulator.dropped())
        for batch in dropped:
            batch.outcome.resolve(-1, -1, error)
        self.room.set()
        return any(batch.identity is not ANONYMOUS for batch in dropped)

"""Whole record batches to the leaders of their partitions, for code that waits: the producer of one task.

Order, repetition, leaders that move and time limits are those of the client's producer; only the batches are made
elsewhere, thousands of rows at once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import Final, NamedTuple, Self

from ottla.base.errors import OttlaError
from ottla.base.ids import TopicPartition
from ottla.client.accumulator import Accumulator
from ottla.client.delivery import Outcome
from ottla.client.errors import RequestTimedOut, api_error, error_code
from ottla.client.membership import Standing
from ottla.client.partition_queue import Batch, Identity
from ottla.client.positions import OffsetAndMetadata
from ottla.client.retry import Deadline
from ottla.client.sender import Sender
from ottla.client.transaction_state import State
from ottla.client.transactions import Transactions
from ottla.pipeline.writing_link import Link
from ottla.protocol.records.batch import parse_header, patch_producer

_NO_LIMIT: Final = 0


class Slot(NamedTuple):
    """The producer that a coordinator gave to a task: it begins a transaction, and never ends it."""

    transactional_id: str
    producer_id: int
    producer_epoch: int


class EncodedBatch(Batch[Outcome]):
    """A record batch that is complete but for the producer's part of its header."""

    __slots__ = ("data",)

    def __init__(
        self, target: TopicPartition, data: bytearray, count: int, created_ms: int
    ) -> None:
        super().__init__(target, 0, _NO_LIMIT, created_ms, Outcome(target))
        self.data = data
        # Halves of a batch that the broker found too large are packed anew, and must stay in the transaction.
        self.transactional = parse_header(data).is_transactional
        self.encoder.count, self.encoder.size_bytes = count, len(data)

    def _packed(self, codec: int, level: int | None) -> bytearray:
        producer_id, epoch = self.identity
        patch_producer(self.data, 0, len(self.data), producer_id, epoch, self.sequence)
        return self.data


class _Membership:
    """What a slot has to say to the sender: partitions join the transaction when they are written."""

    implicit_add = True

    def __init__(self) -> None:
        self._failed = False

    def open_for(self, target: TopicPartition) -> bool:
        """A slot is open as long as its task runs."""
        return not self._failed

    def may_retry(self) -> bool:
        """Nothing is worth another attempt once a batch was given up."""
        return not self._failed

    def failed(self, error: Exception) -> None:
        """A batch was given up, and so is the task."""
        self._failed = True


class TaskProducer:
    """Writes the batches of one task, under its slot or at least once; not for several threads."""

    def __init__(
        self,
        link: Link,
        slot: Slot | None,
        transactional_id: str | None = None,
        *,
        on_written: Callable[[], None] = lambda: None,
    ) -> None:
        settings = link.settings
        if slot is not None:
            transactional_id = slot.transactional_id
        if transactional_id is not None:
            settings = replace(settings, transactional_id=transactional_id)
        self._link = link
        self._settings = settings
        self._lock = threading.Lock()
        self._partition_counts: dict[str, int] = {}
        self._failure: Exception | None = None
        self._on_written = on_written
        self._accumulator: Accumulator[Outcome] = Accumulator(
            batch_size=settings.batch_size,
            linger_ms=0,
            delivery_timeout_ms=settings.delivery_timeout_ms,
            new_outcome=Outcome,
        )
        self._transactions: Transactions | None = None
        self._sender = link.run(self._begin(slot))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._link.run(self._end())

    def partitions(self, topic: str) -> int:
        """How many partitions a topic has; it is created where the broker does that."""
        if topic not in self._partition_counts:
            self._partition_counts[topic] = self._link.run(self._count(topic))
        return self._partition_counts[topic]

    def send(self, target: TopicPartition, data: bytearray, count: int) -> None:
        """Hand over a batch; waits while buffer.memory is full, and raises what became of earlier ones."""
        self._raise_failure()
        batch = EncodedBatch(target, data, count, int(time.monotonic() * 1000))
        batch.outcome.wait(lambda: self._settled(batch.outcome))
        with self._lock:
            self._accumulator.enqueue(batch)
        self._sender.wake_from_thread()
        if self._accumulator.buffered_bytes > self._settings.buffer_memory:
            self._link.run(self._room())

    def flush(self) -> None:
        """Wait until all is written, or raise why it is not."""
        self._link.run(self._sender.flush())
        self._raise_failure()

    # --- transactions of its own, for a task that has no slot

    def begin(self) -> None:
        """What is sent from now on is read by others all together, or never."""
        assert self._transactions is not None
        self._transactions.begin()

    def commit(self, group_id: str, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Let it be read, and commit offsets of a group with it."""
        self._link.run(self._commit(group_id, offsets))

    async def _commit(
        self, group_id: str, offsets: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> None:
        assert self._transactions is not None
        await self._transactions.send_offsets(offsets, Standing(group_id))
        await self._transactions.end(commit=True)

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _settled(self, outcome: Outcome) -> None:
        self._failure = self._failure or outcome.failure()
        if self._failure is None:
            self._on_written()

    # --- in the thread of the link

    async def _begin(self, slot: Slot | None) -> Sender:
        sender = Sender(self._link.cluster, self._settings, self._accumulator, self._lock)
        if slot is not None:
            sender.gate = _Membership()
            sender.identity = Identity(slot.producer_id, slot.producer_epoch)
        elif self._settings.transactional_id is not None:
            made = Transactions(
                self._settings.transactional_id, self._link.cluster, self._settings, sender
            )
            await made.init()
            self._transactions = made
        return sender

    async def _end(self) -> None:
        if self._transactions is not None:
            if self._transactions.state.state in (State.OPEN, State.DOOMED):
                with suppress(OttlaError):  # else the next attempt at this part aborts it
                    await self._transactions.end(commit=False)
            await self._transactions.close()
        self._sender.drop(OttlaError("the task ended before its records were written"))
        await self._sender.close()

    async def _room(self) -> None:
        while (
            self._accumulator.buffered_bytes > self._settings.buffer_memory
            and self._failure is None
        ):
            self._sender.room.clear()
            self._sender.wake()
            await self._sender.room.wait()

    async def _count(self, topic: str) -> int:
        cluster, wait_ms = self._link.cluster, self._settings.max_block_ms
        deadline, backoff = Deadline(wait_ms), cluster.backoff()
        while True:
            view = await cluster.retried(
                lambda: cluster.refresh([topic], allow_auto_create=True),
                timeout_ms=deadline.left_ms(),
            )
            found = view.topics.get(topic)
            if found is not None and not found.error and found.partitions:
                return len(found.partitions)
            if found is not None and found.error and not error_code(found.error).retriable:
                raise api_error(found.error, f"{topic}: {error_code(found.error).message}")
            if not await deadline.sleep(backoff.next_ms()):
                raise RequestTimedOut(
                    f"topic {topic} did not appear within max.block.ms={wait_ms}; check the option "
                    "or column topic, or create it: kafka-topics --create --topic " + topic
                )

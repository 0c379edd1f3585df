"""What both faces of the producer share: records into batches, whoever calls, and the sender behind them."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from ottla.base.errors import OttlaError
from ottla.base.ids import TopicPartition
from ottla.client.accumulator import Accumulator
from ottla.client.cluster import Cluster
from ottla.client.delivery import Callback, Delivery, Outcome
from ottla.client.errors import RequestTimedOut, api_error, error_code
from ottla.client.lifetime.fork import FORKED, tell_after_fork
from ottla.client.membership import Standing
from ottla.client.partition_queue import PartitionQueue
from ottla.client.partitioners import StickyPartition, partition_for_key
from ottla.client.positions import OffsetAndMetadata, as_committed
from ottla.client.producer_settings import ProducerSettings, check_producer
from ottla.client.record_encoder import Bytes, Headers, record_size
from ottla.client.retry import Deadline
from ottla.client.sender import Produced, Sender
from ottla.client.serializers import serializer
from ottla.client.settings import named_settings, read_settings, with_servers
from ottla.client.transaction_state import State
from ottla.client.view import Topic
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ottla.client.transactions import Transactions

_KEY_SERIALIZER: Final = "key.serializer"
_VALUE_SERIALIZER: Final = "value.serializer"


class _Topic:
    """The queues of one topic, and the one that takes records without a key at present."""

    __slots__ = ("queues", "sticky", "sticky_batch", "sticky_queue")

    def __init__(self, queues: list[PartitionQueue[Outcome]], sticky: StickyPartition) -> None:
        self.queues = queues
        self.sticky = sticky
        self.sticky_queue = queues[0]
        self.sticky_batch: Produced | None = None


class Producing:
    """A producer without a face; `append` may be called in any thread, the rest in that of the loop."""

    def __init__(self, settings: Mapping[str, Any] | None, named: Mapping[str, Any]) -> None:
        given = named_settings(settings, named)
        self.serialize_key = serializer(given.pop(_KEY_SERIALIZER, None), _KEY_SERIALIZER)
        self.serialize_value = serializer(given.pop(_VALUE_SERIALIZER, None), _VALUE_SERIALIZER)
        self.settings = with_servers(check_producer(read_settings(ProducerSettings, given)))
        self.cluster = Cluster(self.settings)
        self.lock = threading.Lock()
        self.accumulator: Accumulator[Outcome] = Accumulator(
            batch_size=min(self.settings.batch_size, self.settings.max_request_size),
            linger_ms=self.settings.linger_ms,
            delivery_timeout_ms=self.settings.delivery_timeout_ms,
            new_outcome=Outcome,
        )
        self._by_key = not self.settings.partitioner_ignore_keys
        self._adaptive = self.settings.partitioner_adaptive_partitioning_enable
        self._most_bytes = self.settings.buffer_memory
        self._topics: dict[str, _Topic] = {}
        self._sender: Sender | None = None
        self._transactional = self.settings.transactional_id is not None
        self.accumulator.transactional = self._transactional
        self._transactions: Transactions | None = None
        self._closed = False
        self._refusal = "the producer is closed"
        tell_after_fork(self)

    def forked(self) -> None:
        """This process is a child: connections, and the thread of the loop, are the parent's."""
        self._closed, self._refusal = True, FORKED

    # --- a record into a batch

    def append(
        self,
        topic: str,
        value: Any,
        key: Any,
        partition: int | None,
        timestamp_ms: int | None,
        headers: Headers,
        on_delivery: Callback | None,
    ) -> Delivery | None:
        """Add a record to a batch; None if `make_way` must be awaited first."""
        known = self._topics.get(topic)
        accumulator = self.accumulator
        if known is None or accumulator.buffered_bytes > self._most_bytes or self._closed:
            self._refuse_if_closed()
            return None
        if timestamp_ms is None:
            timestamp_ms = int(time.time() * 1000)
        keyless = False
        with self.lock:
            # Under the lock: a commit that begins meanwhile in another thread must see the record.
            if self._transactional:
                self.transactions.state.need(State.OPEN)
            try:
                if partition is not None:
                    queue = _numbered(known, topic, partition)
                elif key is not None and self._by_key:
                    queue = known.queues[partition_for_key(bytes(key), len(known.queues))]
                else:
                    keyless, queue = True, known.sticky_queue
                batch = accumulator.append(queue, key, value, headers, timestamp_ms)
            except TypeError:
                _check_bytes(key, value)
                raise
            if batch is None:
                _check_bytes(key, value)
                if keyless:
                    queue = self._turn(topic, known)
                batch = self._open(queue, key, value, headers, timestamp_ms)
            delivery = Delivery(batch.outcome, batch.encoder.count - 1, timestamp_ms)
            if on_delivery is not None:
                batch.outcome.call_back(delivery, on_delivery)
        return delivery

    def _open(
        self,
        queue: PartitionQueue[Outcome],
        key: Bytes | None,
        value: Bytes | None,
        headers: Headers,
        timestamp_ms: int,
    ) -> Produced:
        # Under the lock, once a batch: closing drops those that are open, and then there must be no other.
        self._refuse_if_closed()
        size, most = record_size(key, value, headers), self.settings.max_request_size
        if size > most:
            raise api_error(
                ErrorCode.MESSAGE_TOO_LARGE,
                f"a record of {size} bytes exceeds max.request.size={most}; raise it, and "
                "max.message.bytes of the topic, or send less",
            )
        now_ms = int(time.monotonic() * 1000)
        batch = self.accumulator.open(queue, key, value, headers, timestamp_ms, now_ms)
        known = self._topics[queue.target.topic]
        if queue is known.sticky_queue:
            known.sticky_batch = batch
        return batch

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise OttlaError(self._refusal)

    def _turn(self, topic: str, known: _Topic) -> PartitionQueue[Outcome]:
        """The queue for records without a key, another one once the present one has had its share."""
        last = known.sticky_batch
        known.sticky_batch = None
        if known.sticky.current < 0 or (
            last is not None and known.sticky.produced(last.encoder.size_bytes)
        ):
            self._choose(topic, known)
        return known.sticky_queue

    def _choose(self, topic: str, known: _Topic) -> None:
        found = self.cluster.view.topics.get(topic)
        led = [p.index for p in found.partitions if p.leader >= 0] if found is not None else []
        available = [n for n in led if n < len(known.queues)] or list(range(len(known.queues)))
        waiting = [len(known.queues[n].waiting) if self._adaptive else 0 for n in available]
        known.sticky_queue = known.queues[known.sticky.choose(available, waiting)]

    # --- what `append` may have to wait for

    async def make_way(self, topic: str) -> None:
        """Wait until a record for the topic can be taken, for at most max.block.ms."""
        self._refuse_if_closed()
        sender = self.sender()
        deadline = Deadline(self.settings.max_block_ms)
        await self.know(topic, deadline)
        while self.accumulator.buffered_bytes > self._most_bytes:
            sender.room.clear()
            sender.wake()
            try:
                async with asyncio.timeout(deadline.left_ms() / 1000):
                    await sender.room.wait()
                self._refuse_if_closed()
            except TimeoutError:
                raise RequestTimedOut(
                    f"buffer.memory={self._most_bytes} was full for "
                    f"max.block.ms={self.settings.max_block_ms}; the brokers take records more "
                    "slowly than they are sent"
                ) from None

    async def know(self, topic: str, deadline: Deadline | None = None) -> int:
        """Learn how many partitions a topic has; it is created where the broker does that."""
        self.sender()  # only here is this surely the thread of the loop: `append` finds a topic that is known
        deadline = deadline or Deadline(self.settings.max_block_ms)
        try:
            async with asyncio.timeout(deadline.left_ms() / 1000):
                await self._know(topic, deadline)
        except TimeoutError:
            raise RequestTimedOut(
                f"no broker described topic {topic} within max.block.ms={self.settings.max_block_ms}; "
                "check bootstrap.servers: the port may be another service's"
            ) from None
        return len(self._topics[topic].queues)

    async def _know(self, topic: str, deadline: Deadline) -> None:
        backoff = self.cluster.backoff()
        while topic not in self._topics:
            found = self.cluster.view.topics.get(topic)
            if found is not None and not found.error and found.partitions:
                self._learn(found)
                break
            await self.cluster.retried(
                lambda: self.cluster.refresh([topic], allow_auto_create=True),
                timeout_ms=deadline.left_ms(),
            )
            found = self.cluster.view.topics.get(topic)
            if found is not None and not found.error and found.partitions:
                continue
            if found is not None and found.error and not error_code(found.error).retriable:
                raise api_error(found.error, f"{topic}: {error_code(found.error).message}")
            if not await deadline.sleep(backoff.next_ms()):
                raise RequestTimedOut(
                    f"topic {topic} did not appear within max.block.ms={self.settings.max_block_ms}; "
                    "check its name, or create it"
                )

    def _learn(self, topic: Topic) -> None:
        sticky = StickyPartition(self.settings.batch_size, random.randrange)
        queues = [
            self.accumulator.queue(TopicPartition(topic.name, n))
            for n in range(len(topic.partitions))
        ]
        self._topics[topic.name] = _Topic(queues, sticky)

    # --- the sender and the end

    def sender(self) -> Sender:
        """The sender, which begins with the first call."""
        if self._sender is None:
            self._sender = Sender(self.cluster, self.settings, self.accumulator, self.lock)
            self._sender.routes.on_view = self._grown
        return self._sender

    def _grown(self) -> None:
        """Partitions that were added since get records from now on."""
        for name, known in self._topics.items():
            found = self.cluster.view.topics.get(name)
            if found is not None and len(found.partitions) > len(known.queues):
                self._learn(found)

    async def flush(self) -> None:
        """Send everything now, and wait until it is written or given up."""
        if self._sender is not None:
            await self._sender.flush()

    # --- transactions

    async def init_transactions(self) -> None:
        """Get ready for transactions, and fence off earlier producers of the same transactional.id."""
        transactional_id = self.settings.transactional_id
        if transactional_id is None:
            raise OttlaError("transactions need a name; set transactional.id")
        if self._transactions is None:
            from ottla.client.transactions import Transactions

            self._transactions = Transactions(
                transactional_id, self.cluster, self.settings, self.sender()
            )
        await self._transactions.init()

    @property
    def transactions(self) -> Transactions:
        """The producer's transactions, once they are initialised."""
        if self._transactions is None:
            raise OttlaError("call init_transactions first, with transactional.id set")
        return self._transactions

    async def send_offsets(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata | int], group: Standing | str
    ) -> None:
        """Commit offsets of a group with the transaction."""
        named = {TopicPartition(*each): as_committed(offset) for each, offset in offsets.items()}
        standing = Standing(group) if isinstance(group, str) else group
        await self.transactions.send_offsets(named, standing)

    async def _finish(self) -> None:
        """Write what is to be written; a transaction that is still open is aborted."""
        transactions = self._transactions
        if transactions is None:
            await self.flush()
        elif transactions.state.abortable():
            with suppress(OttlaError):  # the coordinator aborts it by transaction.timeout.ms
                await transactions.end(commit=False)

    async def close(self, timeout_s: float | None) -> None:
        """Write what is still to be written, for at most `timeout_s`, and close all connections."""
        if self._closed:
            return
        try:
            async with asyncio.timeout(timeout_s):
                await self._finish()
        except TimeoutError:
            pass
        finally:
            with self.lock:
                self._closed = True
            if self._transactions is not None:
                await self._transactions.close()
            if self._sender is not None:
                await self._sender.close()
            await self.cluster.close()


def _numbered(known: _Topic, topic: str, partition: int) -> PartitionQueue[Outcome]:
    if not 0 <= partition < len(known.queues):
        raise api_error(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            f"topic {topic} has no partition {partition}; its last one is {len(known.queues) - 1}",
        )
    return known.queues[partition]


def _check_bytes(key: Any, value: Any) -> None:
    for name, given in (("key", key), ("value", value)):
        if given is not None and not isinstance(given, bytes | bytearray | memoryview):
            raise TypeError(
                f"the {name} of a record is of type {type(given).__name__}, and bytes are needed; "
                f'encode it, or set {name}.serializer to "string", "json" or a callable'
            )

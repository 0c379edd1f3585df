"""Pure: records on their way to becoming batches: what is ready, what has waited too long, how much memory it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from ottla.base.ids import TopicPartition
from ottla.client.partition_queue import ANONYMOUS, Batch, Identity, PartitionQueue
from ottla.client.record_encoder import Bytes, Headers

W = TypeVar("W")
NEVER_MS = 1 << 62


class Accumulator(Generic[W]):
    """The queues of all partitions; `new_outcome` makes what the senders of a batch wait for."""

    def __init__(
        self,
        *,
        batch_size: int,
        linger_ms: float,
        delivery_timeout_ms: int,
        new_outcome: Callable[[TopicPartition], W],
    ) -> None:
        self.batch_size = batch_size
        self.linger_ms = linger_ms
        self.delivery_timeout_ms = delivery_timeout_ms
        self.queues: dict[TopicPartition, PartitionQueue[W]] = {}
        self.identity: Identity = ANONYMOUS
        self.transactional = False
        self.buffered_bytes = 0
        self.flushing = 0
        self.opened = 0
        self._new_outcome = new_outcome
        self._busy: dict[TopicPartition, PartitionQueue[W]] = {}

    def queue(self, target: TopicPartition) -> PartitionQueue[W]:
        """The queue of a partition."""
        found = self.queues.get(target)
        if found is None:
            found = self.queues[target] = PartitionQueue(target)
        return found

    def append(
        self,
        queue: PartitionQueue[W],
        key: Bytes | None,
        value: Bytes | None,
        headers: Headers,
        timestamp_ms: int,
    ) -> Batch[W] | None:
        """Add a record to the open batch of a queue; None if it is full or there is none."""
        waiting = queue.waiting
        if not waiting:
            return None
        batch = waiting[-1]
        # A batch that was sent once is closed for ever: its records have their places.
        if batch.attempts:
            return None
        encoder = batch.encoder
        before = encoder.size_bytes
        if not encoder.append(key, value, headers, timestamp_ms):
            return None
        self.buffered_bytes += encoder.size_bytes - before
        return batch

    def open(
        self,
        queue: PartitionQueue[W],
        key: Bytes | None,
        value: Bytes | None,
        headers: Headers,
        timestamp_ms: int,
        now_ms: int,
    ) -> Batch[W]:
        """Begin a new batch with this record."""
        batch = queue.draft(self.batch_size, now_ms, self._new_outcome(queue.target))
        batch.transactional = self.transactional
        batch.encoder.append(key, value, headers, timestamp_ms)
        queue.open(batch)
        self.buffered_bytes += batch.encoder.size_bytes
        self._busy[queue.target] = queue
        self.opened += 1
        return batch

    def enqueue(self, batch: Batch[W]) -> None:
        """Take a batch that was filled elsewhere, behind all others for its partition."""
        queue = self.queue(batch.target)
        queue.open(batch)
        self.buffered_bytes += batch.encoder.size_bytes
        self._busy[queue.target] = queue

    def busy(self) -> list[PartitionQueue[W]]:
        """The queues with batches that wait or are in flight, those served last at the end."""
        return list(self._busy.values())

    def ready_at_ms(self, queue: PartitionQueue[W]) -> float:
        """When the oldest batch of a queue may be sent; NEVER_MS if something else must happen first."""
        if not queue.waiting or queue.head_waits_for_repetition():
            return NEVER_MS
        head = queue.waiting[0]
        if head.attempts:
            return head.not_before_ms
        if self.flushing or len(queue.waiting) > 1 or head.encoder.size_bytes >= self.batch_size:
            return 0
        return head.created_ms + self.linger_ms

    def take(self, queue: PartitionQueue[W]) -> Batch[W] | None:
        """The oldest batch of a queue, to be sent now; the queue is served last the next time."""
        batch = queue.take(self.identity)
        if batch is not None:
            self._busy[queue.target] = self._busy.pop(queue.target)
        return batch

    def done(self, batch: Batch[W]) -> None:
        """The batch was written, or given up, after it was taken."""
        queue = self.queues[batch.target]
        queue.done(batch)
        self._release(queue, batch)

    def retry(self, batch: Batch[W], not_before_ms: int) -> None:
        """The batch is to be sent again."""
        self.queues[batch.target].retry(batch, not_before_ms)

    def split(self, batch: Batch[W], outcomes: tuple[W, W]) -> None:
        """The batch is to be sent again, in two parts."""
        parts = self.queues[batch.target].split(batch, outcomes)
        self.buffered_bytes += sum(part.encoder.size_bytes for part in parts)
        self.buffered_bytes -= batch.encoder.size_bytes

    def expired(self, now_ms: int) -> Iterator[Batch[W]]:
        """Removes and returns what has waited longer than delivery.timeout.ms."""
        for queue in self.busy():
            for batch in queue.expired(now_ms - self.delivery_timeout_ms):
                self._release(queue, batch)
                yield batch

    def dropped(self) -> Iterator[Batch[W]]:
        """Removes and returns everything that is not in flight."""
        return self.expired(NEVER_MS)

    def next_expiry_ms(self) -> float:
        """When the first waiting batch will have waited too long."""
        oldest = (queue.waiting[0].created_ms for queue in self._busy.values() if queue.waiting)
        return min(oldest, default=NEVER_MS) + self.delivery_timeout_ms

    def unfinished(self) -> list[Batch[W]]:
        """Every batch that has not been written or given up."""
        return [
            batch for queue in self._busy.values() for batch in (*queue.in_flight, *queue.waiting)
        ]

    def _release(self, queue: PartitionQueue[W], batch: Batch[W]) -> None:
        self.buffered_bytes -= batch.encoder.size_bytes
        if not queue:
            self._busy.pop(queue.target, None)

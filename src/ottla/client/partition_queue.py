"""Pure: the batches of one partition, from the first record to the broker's word, in order and numbered.

A batch is open, waits, is in flight, and is done or waits again. Batches never overtake each other:
one that has to be sent again waits until all that were sent behind it are back. With idempotence
each batch gets a sequence when it is first sent, and keeps it however often it is sent again, so
that the broker can tell a repetition. After a gap that nothing can fill, the producer begins anew
with the next epoch; a batch that a broker may have written keeps its old epoch and sequence until
the broker has said whether it did. To number it anew would write it twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Generic, NamedTuple, TypeVar

from ottla.base.ids import TopicPartition
from ottla.client.record_encoder import RecordEncoder
from ottla.protocol.records.batch import (
    CURRENT_MAGIC,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    pack_batch,
)
from ottla.protocol.records.compression import Codec, compress
from ottla.protocol.records.record import Record, read_records

W = TypeVar("W")
_SEQUENCES = 1 << 31
_UNLIMITED = 1 << 62
_WIDTH = 1 << 32
"""Between the numbers of two batches there is room for the parts of the first."""


class Identity(NamedTuple):
    """A producer id and its epoch; the default stands for a producer without idempotence."""

    producer_id: int = NO_PRODUCER_ID
    epoch: int = -1


ANONYMOUS = Identity()


class Batch(Generic[W]):
    """Records for one partition, and what their senders wait for."""

    __slots__ = (
        "attempts",
        "created_ms",
        "encoder",
        "identity",
        "in_doubt",
        "not_before_ms",
        "number",
        "outcome",
        "sequence",
        "target",
        "transactional",
        "why",
        "width",
        "wire",
    )

    def __init__(
        self, target: TopicPartition, number: int, limit_bytes: int, created_ms: int, outcome: W
    ) -> None:
        self.target = target
        self.number = number
        self.width = _WIDTH
        self.encoder = RecordEncoder(limit_bytes)
        self.created_ms = created_ms
        self.outcome = outcome
        self.attempts = 0
        self.not_before_ms = 0
        # Whether a broker may have written the batch without having said so.
        self.in_doubt = False
        # What the last attempt came to, for whoever asks why there was no success in time.
        self.why: Exception | None = None
        self.identity = ANONYMOUS
        self.sequence = NO_SEQUENCE
        self.transactional = False
        self.wire: bytearray | None = None

    def encode(self, codec: int, level: int | None) -> bytearray:
        """The batch as it is sent; made once for an identity and a sequence."""
        if self.wire is None:
            self.wire = self._packed(codec, level)
        return self.wire

    def _packed(self, codec: int, level: int | None) -> bytearray:
        encoder = self.encoder
        section = encoder.section()
        header = BatchHeader(
            base_offset=0,
            length=0,
            leader_epoch=-1,
            magic=CURRENT_MAGIC,
            crc=0,
            attributes=codec | (TRANSACTIONAL_FLAG if self.transactional else 0),
            last_offset_delta=encoder.count - 1,
            base_timestamp=encoder.base_timestamp,
            max_timestamp=encoder.max_timestamp,
            producer_id=self.identity.producer_id,
            producer_epoch=self.identity.epoch,
            base_sequence=self.sequence,
            count=encoder.count,
        )
        return pack_batch(
            header, section if codec == Codec.NONE else compress(codec, section, level)
        )

    def halves(self, first_outcome: W, second_outcome: W) -> tuple[Batch[W], Batch[W]]:
        """Two batches in the place of this one, with its sequence: nothing of it was written (KIP-126)."""
        records = read_records(self._packed(Codec.NONE, None))
        middle = len(records) // 2
        first = self._part(records[:middle], first_outcome, 0)
        second = self._part(records[middle:], second_outcome, middle)
        return first, second

    def _part(self, records: list[Record], outcome: W, skipped: int) -> Batch[W]:
        width = self.width // 2
        number = self.number + (width if skipped else 0)
        part = Batch(self.target, number, _UNLIMITED, self.created_ms, outcome)
        part.width, part.attempts, part.transactional = width, self.attempts, self.transactional
        part.in_doubt, part.why = self.in_doubt, self.why
        part.claim(self.identity, self.sequence)
        if self.sequence >= 0:
            part.sequence = (self.sequence + skipped) % _SEQUENCES
        for record in records:
            part.encoder.append(record.key, record.value, record.headers, record.timestamp)
        return part

    def claim(self, identity: Identity, sequence: int) -> None:
        """Give the batch its place in the order of its producer."""
        self.identity, self.sequence, self.wire = identity, sequence, None


class PartitionQueue(Generic[W]):
    """What waits for one partition, oldest first, and what is under way to it."""

    __slots__ = ("_identity", "_next_number", "_next_sequence", "in_flight", "target", "waiting")

    def __init__(self, target: TopicPartition) -> None:
        self.target = target
        self.waiting: deque[Batch[W]] = deque()
        self.in_flight: list[Batch[W]] = []
        self._next_number = 0
        self._identity = ANONYMOUS
        self._next_sequence = 0

    def __bool__(self) -> bool:
        return bool(self.waiting or self.in_flight)

    def draft(self, limit_bytes: int, now_ms: int, outcome: W) -> Batch[W]:
        """A batch that may become the last one."""
        return Batch(self.target, self._next_number, limit_bytes, now_ms, outcome)

    def open(self, batch: Batch[W]) -> None:
        """Put a draft with its first record, or a whole batch, at the end."""
        batch.number = self._next_number
        self._next_number += _WIDTH
        self.waiting.append(batch)

    def head_waits_for_repetition(self) -> bool:
        """Whether the oldest batch must let those that overtook it come back first."""
        return bool(self.in_flight) and self.in_flight[-1].number > self.waiting[0].number

    def take(self, identity: Identity) -> Batch[W] | None:
        """The oldest batch, now in flight; None if it has to wait for others to come back."""
        if not self.waiting or self.head_waits_for_repetition():
            return None
        batch = self.waiting[0]
        if identity is not ANONYMOUS and not self._number(batch, identity):
            return None
        self.waiting.popleft()
        self.in_flight.append(batch)
        batch.attempts += 1
        return batch

    def _number(self, batch: Batch[W], identity: Identity) -> bool:
        """Give the batch a sequence under the newest identity; false while an older one is in use.

        A batch in doubt is sent as it was. One that was certainly not written is numbered anew, and so are those
        behind it: no broker has written them, since their sequences follow on the one that is missing.
        """
        if batch.in_doubt and batch.identity is not ANONYMOUS:
            return True
        if identity != self._identity:
            if self.in_flight:
                return False
            self._identity, self._next_sequence = identity, 0
            for behind in self.waiting:
                behind.in_doubt = False
        if batch.identity != identity:
            batch.claim(identity, self._next_sequence)
            self._next_sequence = (self._next_sequence + batch.encoder.count) % _SEQUENCES
        return True

    def done(self, batch: Batch[W]) -> None:
        """The batch needs no more sending."""
        self.in_flight.remove(batch)

    def retry(self, batch: Batch[W], not_before_ms: int) -> None:
        """Send the batch again, not before a moment, and in its old place."""
        self.in_flight.remove(batch)
        batch.not_before_ms = not_before_ms
        self._put_back(batch)

    def split(self, batch: Batch[W], outcomes: tuple[W, W]) -> tuple[Batch[W], Batch[W]]:
        """Send the batch again in two parts."""
        self.in_flight.remove(batch)
        parts = batch.halves(*outcomes)
        for part in parts:
            self._put_back(part)
        return parts

    def _put_back(self, batch: Batch[W]) -> None:
        place = 0
        for waiting in self.waiting:
            if waiting.number > batch.number:
                break
            place += 1
        self.waiting.insert(place, batch)

    def is_oldest(self, batch: Batch[W]) -> bool:
        """Whether nothing in front of the batch is still to be written."""
        older = (other for other in (*self.in_flight, *self.waiting) if other.number < batch.number)
        return next(older, None) is None

    def expired(self, created_before_ms: int) -> Iterator[Batch[W]]:
        """Removes and returns the batches that waited for too long."""
        while self.waiting and self.waiting[0].created_ms <= created_before_ms:
            yield self.waiting.popleft()

"""Pure: what each producer wrote last, so that retries are recognised and transactions tracked.

A producer is one row of a byte table, in the very layout of Kafka's snapshot file, followed by
the four batches before the last: a hundred thousand producers then cost one bytearray and one
dict of ints, which the garbage collector need not walk, and a snapshot is a join of slices.

Differs from Kafka: the timestamp of a producer is the broker's clock at its last append, not the
client's, so that a client without a sane clock is not expired early. And the batches of an aborted transaction do not
count as sent before: a client that uses their sequences again is told that they are out of order, where Kafka says that
all is well and drops the records.
"""

import struct
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from fastcrc.crc32 import iscsi as crc32c

from ottla.base.errors import ApiError, CorruptLog
from ottla.protocol.errors import ErrorCode
from ottla.protocol.records.batch import BatchHeader
from ottla.protocol.records.control import EndTransactionMarker
from ottla.storage.producer_limit import ProducerLimit
from ottla.storage.verification import Guard, Guards

_HEAD = struct.Struct(">qhiqiqiq")
_COORDINATOR_EPOCH = struct.calcsize(">qhiqiq")  # where it stands in a row
_BATCH = struct.Struct(">iqi")
_OLDER_BATCHES = 4
_OLDER = _HEAD.size
_OLDER_END = _OLDER + _OLDER_BATCHES * _BATCH.size
_NO_OLDER = _BATCH.pack(-1, -1, 0) * _OLDER_BATCHES
_ROW_SIZE = _OLDER_END
_HEAD_ALONE = struct.Struct("46s")
_HEAD_OF_ROW = struct.Struct("46s64x")
_AGE = struct.Struct(">q18xq4xq64x")  # a row's producer id, timestamp, first offset of its txn

_SNAPSHOT_VERSION = 1
_SNAPSHOT_HEAD = struct.Struct(">hIi")
_CRC_FROM = 6
_MAX_SEQUENCE = 0x7FFF_FFFF
_ABORTED = -1
"""The offset delta of a last batch that is not to be recognised when it seems to be sent again."""


class Duplicate(NamedTuple):
    """Where a batch that was sent again has been since the first time."""

    base_offset: int
    last_offset: int


class CompletedTxn(NamedTuple):
    """A transaction that a marker has just ended on this partition."""

    producer_id: int
    first_offset: int
    last_offset: int
    is_abort: bool


class ProducerEntry(NamedTuple):
    """One producer as DescribeProducers shows it and the snapshot file keeps it."""

    producer_id: int
    epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int
    coordinator_epoch: int
    txn_first_offset: int


class ProducerState:
    """The producers of one partition."""

    __slots__ = ("_completed", "_guards", "_open", "_rows", "_slots", "limit")

    def __init__(self) -> None:
        self._slots: dict[int, int] = {}
        self._rows = bytearray()
        # Keyed by first offset and in that order, since a transaction starts at the log's end.
        self._open: dict[int, int] = {}
        # First offset and marker of transactions that ended, in the order of their markers.
        self._completed: deque[tuple[int, int]] = deque()
        # Made with the first write that has to be verified elsewhere.
        self._guards: Guards | None = None
        # What all partitions share; None for one that stands alone.
        self.limit: ProducerLimit | None = None

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, producer_id: int) -> bool:
        return producer_id in self._slots

    def entry(self, producer_id: int) -> ProducerEntry | None:
        """One producer, or None when it is unknown."""
        slot = self._slots.get(producer_id)
        return None if slot is None else ProducerEntry(*_HEAD.unpack_from(self._rows, slot))

    def in_transaction(self, producer_id: int, epoch: int) -> bool:
        """Whether the producer has, at this very epoch, a transaction open here."""
        slot = self._slots.get(producer_id)
        if slot is None:
            return False
        head = _HEAD.unpack_from(self._rows, slot)
        return bool(head[7] >= 0 and head[1] == epoch)

    def guard(self, producer_id: int) -> Guard:
        """What a write holds from before its transaction is verified until it is appended."""
        if self._guards is None:
            self._guards = Guards()
        return self._guards.begin(producer_id)

    def is_guarded(self, producer_id: int, guard: Guard) -> bool:
        """Return whether no marker of the producer was appended since the guard was given, and none was lost."""
        return self._guards is not None and self._guards.holds(producer_id, guard)

    def forget_coordinator(self, producer_id: int) -> None:
        """Let the next marker of a producer come from any coordinator, however old its epoch."""
        slot = self._slots.get(producer_id)
        if slot is not None:
            struct.pack_into(">i", self._rows, slot + _COORDINATOR_EPOCH, -1)

    def entries(self) -> Iterator[ProducerEntry]:
        """Every producer."""
        for slot in range(0, len(self._rows), _ROW_SIZE):
            yield ProducerEntry(*_HEAD.unpack_from(self._rows, slot))

    def recent_batches(self, producer_id: int) -> list[tuple[int, int, int]]:
        """(last sequence, last offset, offset delta) of the last five batches, newest first."""
        slot = self._slots.get(producer_id)
        if slot is None:
            return []
        _, _, sequence, offset, delta, _, _, _ = _HEAD.unpack_from(self._rows, slot)
        older = _BATCH.iter_unpack(self._rows[slot + _OLDER : slot + _OLDER_END])
        newest_first = ((sequence, offset, delta), *older)
        return [batch for batch in newest_first if batch[1] >= 0 and batch[2] != _ABORTED]

    def check(
        self, header: BatchHeader, marker: EndTransactionMarker | None = None
    ) -> Duplicate | None:
        """Refuse a batch that breaks the producer's order; say where one sent again lies."""
        slot = self._slots.get(header.producer_id)
        if slot is None:
            # Expired, or deleted with its segments: any sequence may start anew.
            return None
        head = _HEAD.unpack_from(self._rows, slot)
        epoch = head[1]
        if marker is not None:
            self._check_marker(head, header, marker)
            return None
        if header.producer_epoch < epoch:
            raise ApiError(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"epoch {header.producer_epoch} of producer {header.producer_id} is below {epoch}",
            )
        sequence = header.base_sequence
        if sequence >= 0:  # the group coordinator's transactional commits carry none
            expected = (head[2] + 1) & _MAX_SEQUENCE if header.producer_epoch == epoch else 0
            if sequence != expected:
                duplicate = self._find_duplicate(header, slot) if epoch >= 0 else None
                if duplicate is None:
                    self._refuse_sequence(header, expected)
                return duplicate
        if head[7] >= 0 and not header.is_transactional:
            raise ApiError(
                ErrorCode.INVALID_TXN_STATE,
                f"producer {header.producer_id} has a transaction open: transactional batch expected",
            )
        return None

    def update(
        self,
        header: BatchHeader,
        base_offset: int,
        now_ms: int,
        marker: EndTransactionMarker | None = None,
    ) -> CompletedTxn | None:
        """Take in a batch that is in the log; returns the transaction it ended, if any."""
        producer_id = header.producer_id
        if producer_id < 0:
            return None
        slot = self._slots.get(producer_id)
        if slot is None:
            slot = self._new_row(producer_id, header.producer_epoch)
        if marker is not None:
            return self._end_transaction(slot, header, base_offset, now_ms, marker)
        if not header.is_control:
            self._add_batch(slot, header, base_offset, now_ms)
        # A control batch without a record: its whole transaction was compacted away.
        return None

    def last_stable_offset(self, completed: CompletedTxn) -> int:
        """What the last stable offset becomes with this transaction, for the transaction index."""
        return next(iter(self._open), completed.last_offset + 1)

    def first_unstable_offset(self, high_watermark: int) -> int | None:
        """The first offset whose transaction is open, or ended by a marker not yet replicated."""
        self.replicated(high_watermark)
        first = next(iter(self._open), None)
        if not self._completed:
            return first
        oldest = min(txn[0] for txn in self._completed)
        return oldest if first is None else min(oldest, first)

    def replicated(self, high_watermark: int) -> None:
        """Let go of transactions whose markers are below: where nobody reads, they would gather for ever."""
        completed = self._completed
        while completed and completed[0][1] < high_watermark:
            completed.popleft()

    def expire(self, now_ms: int, expiration_ms: int) -> int:
        """Forget producers silent for too long, never one inside a transaction; how many."""
        oldest_kept = now_ms - expiration_ms
        gone = [
            producer_id
            for producer_id, timestamp, txn_first_offset in _AGE.iter_unpack(self._rows)
            if txn_first_offset < 0 and timestamp <= oldest_kept
        ]
        for producer_id in gone:
            self.forget(producer_id)
        return len(gone)

    def idlest(self, begin: int, end: int) -> ProducerEntry | None:
        """Of the producers in these rows, the one silent for longest that has no transaction open."""
        oldest, found = 0, None
        for slot in range(begin * _ROW_SIZE, end * _ROW_SIZE, _ROW_SIZE):
            _, timestamp, txn_first_offset = _AGE.unpack_from(self._rows, slot)
            if txn_first_offset < 0 and (found is None or timestamp < oldest):
                oldest, found = timestamp, slot
        return None if found is None else ProducerEntry(*_HEAD.unpack_from(self._rows, found))

    def recall(self, header: BatchHeader) -> None:
        """Put a batch found in the log back into the window that a snapshot does not keep."""
        slot = self._slots.get(header.producer_id)
        if slot is None or header.is_control:
            return
        head = _HEAD.unpack_from(self._rows, slot)
        if head[1] != header.producer_epoch or header.last_offset >= head[3] or head[4] == _ABORTED:
            return
        found = (header.last_sequence, header.last_offset, header.last_offset_delta)
        older = {*self.recent_batches(header.producer_id)[1:], found}
        newest = sorted(older, key=lambda batch: -batch[1])[:_OLDER_BATCHES]
        packed = b"".join(_BATCH.pack(*batch) for batch in newest)
        self._rows[slot + _OLDER : slot + _OLDER_END] = packed + _NO_OLDER[len(packed) :]

    def encode_snapshot(self) -> bytes:
        """The producers in the format of Kafka's snapshot file, version 1."""
        count = len(self._slots)
        body = bytearray(_SNAPSHOT_HEAD.pack(_SNAPSHOT_VERSION, 0, count))
        body += b"".join(head for (head,) in _HEAD_OF_ROW.iter_unpack(self._rows))
        crc = crc32c(memoryview(body)[_CRC_FROM:])
        _SNAPSHOT_HEAD.pack_into(body, 0, _SNAPSHOT_VERSION, crc, count)
        return bytes(body)

    @classmethod
    def decode_snapshot(cls, data: bytes) -> "ProducerState":
        """The producers in a snapshot file of ours or of Kafka's."""
        if len(data) < _SNAPSHOT_HEAD.size:
            raise CorruptLog(f"producer snapshot of only {len(data)} bytes")
        version, crc, count = _SNAPSHOT_HEAD.unpack_from(data)
        if version != _SNAPSHOT_VERSION:
            raise CorruptLog(f"producer snapshot of unknown version {version}")
        if crc != crc32c(data[_CRC_FROM:]) or len(data) != 10 + count * _HEAD.size:
            raise CorruptLog("producer snapshot with a wrong checksum or length")
        state = cls()
        for (head,) in _HEAD_ALONE.iter_unpack(data[_SNAPSHOT_HEAD.size :]):
            state._rows += head + _NO_OLDER
        ages = list(_AGE.iter_unpack(state._rows))
        state._slots = {age[0]: _ROW_SIZE * number for number, age in enumerate(ages)}
        state._open = dict(sorted((age[2], age[0]) for age in ages if age[2] >= 0))
        return state

    def _new_row(self, producer_id: int, epoch: int) -> int:
        if self.limit is not None:
            self.limit.admit(self)
        slot = self._slots[producer_id] = len(self._rows)
        self._rows += _HEAD.pack(producer_id, epoch, -1, -1, 0, -1, -1, -1) + _NO_OLDER
        return slot

    def forget(self, producer_id: int) -> None:
        """Know nothing of a producer any more: it may start anew with any sequence."""
        slot = self._slots.pop(producer_id)
        last = len(self._rows) - _ROW_SIZE
        if slot != last:
            self._rows[slot : slot + _ROW_SIZE] = self._rows[last:]
            (moved,) = struct.unpack_from(">q", self._rows, slot)
            self._slots[moved] = slot
        del self._rows[last:]
        if self.limit is not None:
            self.limit.removed(self)

    def _add_batch(self, slot: int, header: BatchHeader, base_offset: int, now_ms: int) -> None:
        rows = self._rows
        _, epoch, sequence, offset, delta, _, coordinator, txn = _HEAD.unpack_from(rows, slot)
        if epoch != header.producer_epoch:
            rows[slot + _OLDER : slot + _OLDER_END] = _NO_OLDER
        elif offset >= 0:
            start = slot + _OLDER
            newest = _BATCH.pack(sequence, offset, delta)
            rows[start : slot + _OLDER_END] = newest + rows[start : slot + _OLDER_END - 16]
        if txn < 0 and header.attributes & 0x10:
            txn = base_offset
            self._open[base_offset] = header.producer_id
        _HEAD.pack_into(
            rows,
            slot,
            header.producer_id,
            header.producer_epoch,
            header.last_sequence,
            base_offset + header.last_offset_delta,
            header.last_offset_delta,
            now_ms,
            coordinator,
            txn,
        )

    def _end_transaction(
        self, slot: int, header: BatchHeader, offset: int, now_ms: int, marker: EndTransactionMarker
    ) -> CompletedTxn | None:
        rows = self._rows
        if self._guards is not None:
            self._guards.end(header.producer_id)
        _, epoch, sequence, last_offset, delta, _, _, first = _HEAD.unpack_from(rows, slot)
        if epoch != header.producer_epoch:
            # A new epoch starts at sequence 0 (KIP-890 bumps it with every transaction).
            rows[slot + _OLDER : slot + _OLDER_END] = _NO_OLDER
            sequence, last_offset, delta = -1, -1, 0
        elif not marker.committed:
            # Nobody sends its batches again, but librdkafka may give their sequences to the next transaction's.
            rows[slot + _OLDER : slot + _OLDER_END] = _NO_OLDER
            delta = _ABORTED
        _HEAD.pack_into(
            rows,
            slot,
            header.producer_id,
            header.producer_epoch,
            sequence,
            last_offset,
            delta,
            now_ms,
            marker.coordinator_epoch,
            -1,
        )
        if first < 0:
            return None
        self._open.pop(first, None)
        self._completed.append((first, offset))
        return CompletedTxn(header.producer_id, first, offset, not marker.committed)

    def _check_marker(
        self, head: tuple[int, ...], header: BatchHeader, marker: EndTransactionMarker
    ) -> None:
        _, epoch, _, _, _, _, coordinator_epoch, _ = head
        if header.producer_epoch < epoch:
            raise ApiError(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"marker epoch {header.producer_epoch} of producer {header.producer_id}"
                f" is below {epoch}",
            )
        if marker.coordinator_epoch < coordinator_epoch:
            raise ApiError(
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                f"coordinator epoch {marker.coordinator_epoch} is below {coordinator_epoch}",
            )

    def _find_duplicate(self, header: BatchHeader, slot: int) -> Duplicate | None:
        if header.producer_epoch != _HEAD.unpack_from(self._rows, slot)[1]:
            return None
        last_sequence = header.last_sequence
        for sequence, offset, delta in self.recent_batches(header.producer_id):
            if sequence == last_sequence and delta == header.last_offset_delta:
                return Duplicate(offset - delta, offset)
        return None

    def _refuse_sequence(self, header: BatchHeader, expected: int) -> None:
        raise ApiError(
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
            f"producer {header.producer_id} epoch {header.producer_epoch} sent sequence"
            f" {header.base_sequence}, expected {expected}",
        )

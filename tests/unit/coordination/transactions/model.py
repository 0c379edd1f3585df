"""Partitions and producers as they behave in the world, for models of what may go wrong between them."""

from __future__ import annotations

from typing import NamedTuple

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.coordination.transactions.ends import EndMarkers
from ottla.coordination.transactions.state import Producer
from ottla.protocol.errors import ErrorCode
from ottla.protocol.records.batch import parse_header
from ottla.protocol.records.builder import build_batch
from ottla.protocol.records.control import EndTransactionMarker, build_end_transaction_marker
from ottla.protocol.records.record import Record
from ottla.storage.producer_state import ProducerState
from tests.unit.coordination.transactions.desk import ID, Desk


class Value(NamedTuple):
    """A record, by the transaction that its producer believes it to be part of."""

    transaction: int
    number: int


class ModelPartition:
    """A log with the broker's own producer state, which knows of each record how it ended."""

    def __init__(self, tp: TopicPartition) -> None:
        self.tp = tp
        self.producers = ProducerState()
        self.end_offset = 0
        self.open: dict[int, list[Value]] = {}
        self.outcome: dict[Value, bool] = {}

    def produce(
        self, desk: Desk, producer: Producer, sequence: int, value: Value, id: str = ID
    ) -> int:
        """What Produce v12 does; the error code."""
        if not self.producers.in_transaction(*producer):
            desk.add(producer, self.tp, id=id)
        try:
            if not self.producers.in_transaction(*producer):
                desk.shard.check_within(id, producer, self.tp)
            return self._append(producer, sequence, value)
        except ApiError as refused:
            return refused.code

    def _append(self, producer: Producer, sequence: int, value: Value) -> int:
        batch = build_batch(
            [Record(value=b"")],
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            base_sequence=sequence,
            transactional=True,
        )
        header = parse_header(memoryview(batch))
        if self.producers.check(header) is not None:
            return ErrorCode.NONE
        self.producers.update(header, self.end_offset, 0)
        self.end_offset += 1
        self.open.setdefault(producer.producer_id, []).append(value)
        return ErrorCode.NONE

    def end(self, markers: EndMarkers) -> None:
        """Append a marker."""
        producer_id, epoch = markers.producer
        marker = EndTransactionMarker(markers.committed, 0)
        batch = build_end_transaction_marker(
            marker, producer_id=producer_id, producer_epoch=epoch, now_ms=0
        )
        header = parse_header(memoryview(batch))
        self.producers.check(header, marker)
        self.producers.update(header, self.end_offset, 0, marker)
        self.end_offset += 1
        for value in self.open.pop(producer_id, []):
            assert value not in self.outcome, f"{value} has ended twice"
            self.outcome[value] = markers.committed


class World(Desk):
    """A coordinator whose markers go into model partitions."""

    def __init__(self, *tps: TopicPartition) -> None:
        super().__init__(transaction_abort_interval_ms=1_000)
        self.partitions = {tp: ModelPartition(tp) for tp in tps}

    def _write_markers(self, markers: EndMarkers) -> None:
        if self.held is None:
            for tp in markers.partitions:
                self.partitions[tp].end(markers)
        super()._write_markers(markers)

    def outcomes(self, transaction: int) -> set[bool]:
        """How the records of one transaction ended, wherever they are."""
        return {
            committed
            for partition in self.partitions.values()
            for value, committed in partition.outcome.items()
            if value.transaction == transaction
        }

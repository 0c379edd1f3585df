"""A producer whose EndTxn arrives a second time, when its next transaction is under way (KAFKA-17754).

It speaks transaction version 2 (KIP-890) by hand, as no client library of the tests does: the broker adds partitions by
itself, and gives the producer a new epoch with every end, which is what makes the late request harmless.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from kafka.protocol.metadata import FindCoordinatorRequest
from kafka.protocol.producer import EndTxnRequest, InitProducerIdRequest, ProduceRequest
from kafka.record.memory_records import MemoryRecordsBuilder

from tests.checker.history import Action, Outcome, Sent
from tests.support.wire import Closed, Wire, produced
from tests.workload.worker import TIMEOUT_S, key_of
from tests.workload.writers import PAUSE_S, Writer

TRANSACTION = 1
BROKEN = (Closed, ConnectionError, TimeoutError)


class Refused(Exception):
    """The broker answered with an error code."""


class Epoch(NamedTuple):
    """A producer id at an epoch."""

    producer_id: int
    epoch: int


class LateEnds(Writer):
    """By turns a transaction that commits, and one that aborts after the first one's end has come again."""

    wire: Wire | None = None

    def begin(self) -> None:
        self.incarnation = -1
        self.connect()

    def connect(self) -> None:
        """Start anew until the broker lets us."""
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            self.disconnect()
            try:
                self.wire = Wire(self.bootstrap)
                # The question alone makes a broker keep transactions.
                self.ask(FindCoordinatorRequest[2](key=self.name, key_type=TRANSACTION))
                self.now = self.ask_for_epoch()
                break
            except (Refused, *BROKEN):
                assert time.monotonic() < deadline, "no producer id in time"
                time.sleep(PAUSE_S)
        self.incarnation += 1
        self.sequences: dict[int, int] = {}

    def disconnect(self) -> None:
        """Hang up."""
        if self.wire is not None:
            self.wire.close()
            self.wire = None

    def work(self) -> None:
        before = self.now
        if self.transaction(commits=True):
            self.transaction(commits=False, late=before)
        self.enough.wait(PAUSE_S)

    def transaction(self, *, commits: bool, late: Epoch | None = None) -> bool:
        """Two records with a late request in between, if there is one; whether all went well."""
        operation = self.recorder.begin(self.name, Action.TRANSACTION, client=self.incarnation)
        steps: list[Sent] = []
        try:
            self.write(steps)
            if late is not None:
                self.end_again(late)
            self.write(steps)
            self.end_transaction(self.now, commits)
        except (Refused, *BROKEN) as failed:
            certain = isinstance(failed, Refused)
            outcome = self.recorder.refused(operation) if certain else Outcome.UNKNOWN
            self.recorder.end(operation, outcome, steps=tuple(steps), error=repr(failed))
            self.connect()
            return False
        outcome = Outcome.OK if commits else Outcome.FAIL
        self.recorder.end(operation, outcome, steps=tuple(steps))
        return True

    def write(self, steps: list[Sent]) -> None:
        """One record; it is among the steps even if its answer never comes."""
        partition, value = self.chance.randrange(self.partitions), self.value()
        steps.append(Sent(key_of(self.topic, partition), value))
        sequence = self.sequences.get(partition, 0)
        answer = produced(self.ask(self.produce_request(partition, value, sequence)))
        check(answer.error_code)
        self.sequences[partition] = sequence + 1
        steps[-1] = steps[-1]._replace(offset=answer.base_offset)

    def produce_request(self, partition: int, value: str, sequence: int) -> Any:
        """A transactional batch of one record."""
        builder = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=1 << 16)
        timestamp_ms = int(time.time() * 1000)
        builder.append(timestamp=timestamp_ms, key=None, value=value.encode(), headers=[])
        builder.set_producer_state(*self.now, sequence, is_transactional=True)
        builder.close()
        topics = ProduceRequest.TopicProduceData
        data = topics.PartitionProduceData(index=partition, records=bytes(builder.buffer()))
        return ProduceRequest[12](
            transactional_id=self.name,
            acks=-1,
            timeout_ms=10_000,
            topic_data=[topics(name=self.topic, partition_data=[data])],
        )

    def end_transaction(self, producer: Epoch, commits: bool) -> None:
        """EndTxn, and on with the epoch that it gives; a new epoch begins at sequence 0."""
        answer = self.ask(self.end_request(producer, commits))
        check(answer.error_code)
        given = Epoch(answer.producer_id, answer.producer_epoch)
        if given != self.now:
            self.sequences.clear()
        self.now = given

    def end_again(self, producer: Epoch) -> None:
        """The first EndTxn was held up on another connection, and arrives now; nobody waits for its answer."""
        with Wire(self.bootstrap) as late:
            late.ask(self.end_request(producer, True))

    def end_request(self, producer: Epoch, commits: bool) -> Any:
        """An EndTxn of transaction version 2."""
        return EndTxnRequest[5](
            transactional_id=self.name,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            committed=commits,
        )

    def ask_for_epoch(self) -> Epoch:
        """InitProducerId, which aborts what was left open."""
        answer = self.ask(
            InitProducerIdRequest[5](
                transactional_id=self.name,
                transaction_timeout_ms=60_000,
                producer_id=-1,
                producer_epoch=-1,
            )
        )
        check(answer.error_code)
        return Epoch(answer.producer_id, answer.producer_epoch)

    def ask(self, request: Any) -> Any:
        """The answer to a request."""
        assert self.wire is not None
        return self.wire.ask(request)

    def finish(self) -> None:
        """Abort what may be open: readers of committed records wait for it."""
        self.connect()

    def close(self) -> None:
        self.disconnect()


def check(error_code: int) -> None:
    """Refused, unless it is none."""
    if error_code:
        raise Refused(error_code)

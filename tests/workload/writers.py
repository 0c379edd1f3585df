"""Those who write: an idempotent producer, transactional ones, and two that fight over one transactional id."""

from __future__ import annotations

from itertools import count
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from tests.checker.history import Action, Operation, Outcome, Sent
from tests.workload.recorder import Recorder
from tests.workload.worker import TIMEOUT_S, Worker, key_of, until_done

PAUSE_S = 0.002
FLUSH_TIMEOUT_S = 2.0
MONEY = "$"
"""Stands in a value before the amount."""
KEYED = ":"
"""Stands in a value behind the key of its record."""
ABORT_TIMEOUT_S = 0.2
"""librdkafka waits as long as it may for answers that were lost, and gives up only when it is asked to abort again."""
ABORT_PATIENCE_S = 4.0
"""Then only a new client helps: one whose group's coordinator has moved may ask the old one for ever (see Copier)."""


class Writer(Worker):
    """Knows the logs it writes to, and gives every record a value of its own."""

    def __init__(
        self, name: str, bootstrap: str, recorder: Recorder, topic: str, partitions: int
    ) -> None:
        super().__init__(name, bootstrap, recorder)
        self.topic, self.partitions = topic, partitions
        self._numbers = count()

    def value(self) -> str:
        """A value that nobody else sends."""
        return f"{self.name}.{next(self._numbers)}"


class IdempotentWriter(Writer):
    """Sends records one by one, several under way, until each has been acknowledged."""

    MAX_OUTSTANDING = 50

    def begin(self) -> None:
        settings = self.settings(enable_idempotence=True, linger_ms=1, message_timeout_ms=0)
        self.client = Producer(settings)

    def work(self) -> None:
        if len(self.client) < self.MAX_OUTSTANDING:
            partition, value = self.chance.randrange(self.partitions), self.value()
            sent = Sent(key_of(self.topic, partition), value)
            operation = self.recorder.begin(self.name, Action.SEND, steps=(sent,))
            self.client.produce(
                self.topic,
                value.encode(),
                self.record_key(value),
                partition=partition,
                on_delivery=lambda error, message: self.delivered(operation, error, message),
            )
        self.client.poll(PAUSE_S)

    def record_key(self, value: str) -> bytes | None:
        """The key of the record with this value."""
        return None

    def delivered(self, operation: Operation, error: KafkaError | None, message: Message) -> None:
        """The outcome of one record."""
        if error is not None:
            self.recorder.end(operation, Outcome.UNKNOWN, error=str(error))
            return
        told = tuple(sent._replace(offset=message.offset()) for sent in operation.sends)
        self.recorder.end(operation, Outcome.OK, steps=told)

    def finish(self) -> None:
        assert self.client.flush(TIMEOUT_S) == 0, (
            "the producer was never told what became of records"
        )


class KeyedWriter(IdempotentWriter):
    """Writes again and again to a few keys, for topics that are compacted."""

    MAX_OUTSTANDING = 10
    KEYS = 20

    def value(self) -> str:
        return f"{self.chance.randrange(self.KEYS)}{KEYED}{super().value()}"

    def record_key(self, value: str) -> bytes | None:
        return value.partition(KEYED)[0].encode()


class Transaction:
    """One transaction of librdkafka, with what it wrote and was told."""

    def __init__(
        self, client: Producer, recorder: Recorder, process: str, incarnation: int, **fields: Any
    ) -> None:
        self.client, self.recorder = client, recorder
        self.ended = False
        self.steps: list[Any] = list(fields.pop("steps", ()))
        self.operation = recorder.begin(
            process, Action.TRANSACTION, client=incarnation, steps=tuple(self.steps), **fields
        )
        client.begin_transaction()

    def write(self, topic: str, partition: int, value: str) -> None:
        """Send one record."""
        place = len(self.steps)
        self.steps.append(Sent(key_of(topic, partition), value))
        self.operation = self.recorder.amend(self.operation, steps=tuple(self.steps))

        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is None:
                self.steps[place] = self.steps[place]._replace(offset=message.offset())

        self.client.produce(topic, value.encode(), partition=partition, on_delivery=delivered)

    def commit(self) -> bool:
        """Whether it was committed; raises KafkaException when the client is of no use any more."""
        try:
            until_done(lambda: self.client.commit_transaction(TIMEOUT_S))
        except KafkaException as failed:
            if not failed.args[0].txn_requires_abort():
                self._end(self.recorder.refused(self.operation), str(failed))
                raise
            self.abort()
            return False
        self._end(Outcome.OK)
        return True

    def abort(self) -> None:
        """Nothing of it counts; raises KafkaException when the client is of no use any more."""
        try:
            until_done(lambda: self.client.abort_transaction(ABORT_TIMEOUT_S), ABORT_PATIENCE_S)
        except KafkaException as failed:
            self._end(Outcome.UNKNOWN, str(failed))
            raise
        self._end(Outcome.FAIL)

    def give_up(self, why: KafkaException) -> None:
        """The client was found to be of no use, before the end or at it."""
        self._end(self.recorder.refused(self.operation), str(why))

    def _end(self, outcome: Outcome, error: str = "") -> None:
        if not self.ended:
            self.ended = True
            self.recorder.end(self.operation, outcome, steps=tuple(self.steps), error=error)


class TransactionalWriter(Writer):
    """Moves money between accounts, one transaction after another, to all logs; some are aborted."""

    TRANSFERS = 2
    ABORTED = 0.4

    def begin(self) -> None:
        self.incarnation = 0
        self.start_client()

    def start_client(self) -> None:
        """A client that is ready to begin."""
        self.client = Producer(self.settings(transactional_id=self.name, linger_ms=0))
        until_done(lambda: self.client.init_transactions(TIMEOUT_S))

    def work(self) -> None:
        try:
            self.attempt(Transaction(self.client, self.recorder, self.name, self.incarnation))
        except KafkaException as failed:
            lost_patience = failed.args[0].retriable()
            if not (failed.args[0].fatal() or lost_patience):
                raise
            self.incarnation += 1
            self.start_client()
        self.enough.wait(PAUSE_S)

    def attempt(self, transaction: Transaction) -> None:
        """Write, and end it one way or the other."""
        for _ in range(self.TRANSFERS):
            amount = self.chance.randrange(1, 100)
            for entry in (amount, -amount):
                partition = self.chance.randrange(self.partitions)
                transaction.write(self.topic, partition, f"{self.value()}{MONEY}{entry}")
        if self.chance.random() < self.ABORTED:
            # Some are in the log when they are aborted, some are not yet.
            wait_s = TIMEOUT_S if self.chance.random() < 0.8 else 0
            until_done(lambda: self.client.flush(wait_s))
            transaction.abort()
        else:
            transaction.commit()


class Rivals(Writer):
    """Two producers with one transactional id: the second takes over in the midst of the first one's work.

    Each keeps to a log of its own, or else sequences that do not fit would betray them.
    """

    def begin(self) -> None:
        self.incarnation = 0

    def work(self) -> None:
        transactional_id = f"{self.name}-{self.incarnation}"
        logs = self.chance.sample(range(self.partitions), 2)
        both = [(self.take_over(transactional_id, log), log) for log in logs]
        writes_more = self.chance.random() < 0.5
        for transaction, log in both:
            if writes_more:
                self.write(transaction, log)
            if not transaction.ended:
                self.commit(transaction)
        # Readers of committed records wait for those who were left with an open transaction.
        self.start_client(transactional_id)
        self.enough.wait(PAUSE_S)

    def start_client(self, transactional_id: str) -> Producer:
        """A producer that shuts out the one before."""
        client = Producer(self.settings(transactional_id=transactional_id, linger_ms=0))
        until_done(lambda: client.init_transactions(TIMEOUT_S))
        return client

    def take_over(self, transactional_id: str, log: int) -> Transaction:
        """A transaction of a new producer, with records that are in the log."""
        self.incarnation += 1
        client = self.start_client(transactional_id)
        transaction = Transaction(client, self.recorder, self.name, self.incarnation)
        self.write(transaction, log)
        return transaction

    def write(self, transaction: Transaction, log: int) -> None:
        """A few records, and wait until they are in the log."""
        try:
            for _ in range(2):
                transaction.write(self.topic, log, self.value())
            until_done(lambda: transaction.client.flush(FLUSH_TIMEOUT_S))
        except KafkaException as failed:
            transaction.give_up(failed)

    def commit(self, transaction: Transaction) -> None:
        """Only the newer one may."""
        try:
            transaction.commit()
        except KafkaException as failed:
            transaction.give_up(failed)

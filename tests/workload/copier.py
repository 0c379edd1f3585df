"""A pipeline of one: reads a topic, writes it to another, and commits where it is in the same transaction."""

from __future__ import annotations

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from tests.checker.history import Action, Isolation, Polled
from tests.support.waiting import wait_for
from tests.workload.readers import POLL_S, generation_of, records
from tests.workload.recorder import Recorder
from tests.workload.worker import TIMEOUT_S, Worker, in_time, key_of, partition_of, until_done
from tests.workload.writers import Transaction

AT_ONCE = 50
OFFSETS_S = 3.0
OFFSETS_PATIENCE_S = 6.0
"""librdkafka 2.16 keeps asking the broker that coordinated the group when it dies between two requests of one call, and
never hears of another: then only a new client helps. Now and then the call does not even come back."""
ATTEMPT = "~"
"""Stands in a copy between the value and the number of the attempt: what was tried twice can be told apart."""


class Copier(Worker):
    """Copies each record to the same partition of the other topic, exactly once."""

    ABORTED = 0.2

    def __init__(
        self,
        name: str,
        bootstrap: str,
        recorder: Recorder,
        topics: tuple[str, str],
        partitions: int,
    ) -> None:
        super().__init__(name, bootstrap, recorder)
        self.source, self.target = topics
        self.keys = [key_of(self.source, number) for number in range(partitions)]
        self.positions: dict[str, int] = {}
        self.at_end: set[str] = set()

    def begin(self) -> None:
        self.incarnation = self.attempts = 0
        self.start_clients()

    def start_clients(self) -> None:
        """A producer that shuts out the one before, then a reader that goes on where that one has committed."""
        self.producer = Producer(self.settings(transactional_id=self.name, linger_ms=0))
        until_done(lambda: self.producer.init_transactions(TIMEOUT_S))
        self.reader = Consumer(
            self.settings(
                group_id=self.name,
                enable_auto_commit=False,
                auto_offset_reset="error",
                isolation_level=str(Isolation.COMMITTED),
                fetch_wait_max_ms=50,
                enable_partition_eof=True,
            )
        )
        asked = [partition_of(key) for key in self.keys]
        committed = wait_for(lambda: self.committed(asked), "committed offsets", TIMEOUT_S)
        self.go_to(committed)

    def committed(self, asked: list[TopicPartition]) -> dict[str, int] | None:
        """Where this pipeline is, as the group knows it."""
        try:
            told = self.reader.committed(asked, timeout=5.0)
        except KafkaException:
            return None
        return {key_of(each.topic, each.partition): max(each.offset, 0) for each in told}

    def go_to(self, positions: dict[str, int]) -> None:
        """Read on from there."""
        self.positions = positions
        self.at_end.clear()
        self.recorder.note(
            self.name,
            Action.ASSIGN,
            client=self.incarnation,
            keys=frozenset(self.keys),
            positions=dict(positions),
        )
        self.reader.assign([partition_of(*each) for each in positions.items()])

    def work(self) -> None:
        messages = self.reader.consume(AT_ONCE, POLL_S)
        for message in messages:
            key = key_of(message.topic(), message.partition())
            if message.error() is None:
                self.at_end.discard(key)
            elif message.error().code() == KafkaError._PARTITION_EOF:
                self.at_end.add(key)
        found = records(messages)
        if found:
            self.copy(found)

    def copy(self, found: tuple[Polled, ...]) -> None:
        """One transaction."""
        after = self.positions | {each.key: each.offset + 1 for each in found}
        transaction = Transaction(
            self.producer,
            self.recorder,
            self.name,
            self.incarnation,
            steps=found,
            group=self.name,
            generation=generation_of(self.reader),
            positions=after,
        )
        try:
            if self.attempt(transaction, found, after):
                self.positions = after
            else:
                self.go_to(self.positions)
        except KafkaException as failed:
            transaction.give_up(failed)
            self.reader.close()
            self.incarnation += 1
            self.start_clients()

    def attempt(
        self, transaction: Transaction, found: tuple[Polled, ...], after: dict[str, int]
    ) -> bool:
        """Whether it was committed."""
        self.attempts += 1
        for each in found:
            value = f"{each.value}{ATTEMPT}{self.attempts}"
            transaction.write(self.target, partition_of(each.key).partition, value)
        producer, metadata = self.producer, self.reader.consumer_group_metadata()
        offsets = [partition_of(*each) for each in after.items()]
        try:
            until_done(
                lambda: in_time(
                    lambda: producer.send_offsets_to_transaction(offsets, metadata, OFFSETS_S),
                    OFFSETS_PATIENCE_S,
                ),
                OFFSETS_PATIENCE_S,
            )
        except KafkaException as failed:
            if not failed.args[0].txn_requires_abort():
                raise
            transaction.abort()
            return False
        if self.chance.random() < self.ABORTED:
            transaction.abort()
            return False
        return transaction.commit()

    def finish(self) -> None:
        """Copy what is left: having gone back a little, the reader says anew where each log ends."""
        self.go_to(self.positions)
        while len(self.at_end) < len(self.keys):
            self.work()
        self.reader.close()

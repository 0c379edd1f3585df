"""kill -9 of the broker in the midst of transactions: each counts wholly or not at all, as its producer was told."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from threading import Event, Thread

import pytest
from confluent_kafka import KafkaException, Producer

from tests.support.broker import OttlaBroker
from tests.support.clients import consume, create_topic, producer
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.compat, pytest.mark.slow]

KILLS = 12
PARTITIONS = 3
RECORDS = 2 * PARTITIONS
TIMEOUT_S = 60.0


class TransactionalWorker(Thread):
    """Writes one transaction after another, and keeps what it was told of each: True, False, or nothing certain."""

    def __init__(self, bootstrap: str, topic: str, name: str) -> None:
        super().__init__(name=name)
        self.bootstrap, self.topic = bootstrap, topic
        self.told: dict[str, bool | None] = {}
        self.enough = Event()
        self.chance = random.Random(name)
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            client = self.start_producer()
            while not self.enough.is_set():
                transaction = f"{self.name}/{len(self.told)}"
                self.told[transaction] = None
                try:
                    self.told[transaction] = self.attempt(client, transaction)
                except KafkaException as failed:
                    if not failed.args[0].fatal():
                        raise
                    client = self.start_producer()
        except BaseException as failure:
            self.failure = failure
            raise

    def start_producer(self) -> Producer:
        client = producer(self.bootstrap, transactional_id=self.name, linger_ms=0)
        until_done(lambda: client.init_transactions(TIMEOUT_S))
        return client

    def attempt(self, client: Producer, transaction: str) -> bool:
        """One transaction; how it ended."""
        client.begin_transaction()
        for number in range(RECORDS):
            client.produce(self.topic, transaction.encode(), partition=number % PARTITIONS)
        if self.chance.random() < 0.3:
            until_done(lambda: client.abort_transaction(TIMEOUT_S))
            return False
        try:
            until_done(lambda: client.commit_transaction(TIMEOUT_S))
        except KafkaException as failed:
            if not failed.args[0].txn_requires_abort():
                raise
            until_done(lambda: client.abort_transaction(TIMEOUT_S))
            return False
        return True

    def count(self, outcome: bool | None) -> int:
        return list(self.told.values()).count(outcome)


def until_done(step: Callable[[], None]) -> None:
    """What the client may try again is tried again."""
    while True:
        try:
            return step()
        except KafkaException as failed:
            if not failed.args[0].retriable():
                raise


@pytest.fixture
def workers(own_broker: Callable[..., OttlaBroker]) -> Iterator[tuple[OttlaBroker, list]]:
    broker = own_broker({"transaction.state.log.num.partitions": "5"})
    topic = create_topic(broker.bootstrap, partitions=PARTITIONS)
    running = [TransactionalWorker(broker.bootstrap, topic, f"worker-{n}") for n in range(2)]
    for worker in running:
        worker.start()
    yield broker, running
    for worker in running:
        worker.enough.set()
        worker.join(TIMEOUT_S)


def test_transactions_survive_a_broker_that_is_killed(
    workers: tuple[OttlaBroker, list[TransactionalWorker]],
) -> None:
    broker, running = workers
    for number in range(KILLS):
        before = [worker.count(True) for worker in running]
        wait_for(
            lambda before=before, number=number: all(
                worker.failure or worker.count(True) > was + number % 5
                for worker, was in zip(running, before, strict=True)
            ),
            "transactions to commit",
            TIMEOUT_S,
        )
        broker.kill()
        broker.start()
    for worker in running:
        worker.enough.set()
        worker.join(TIMEOUT_S)
        assert worker.failure is None
    seen = read(broker.bootstrap, running[0].topic)
    for worker in running:
        for transaction, outcome in worker.told.items():
            expected = {True: {RECORDS}, False: {0}, None: {0, RECORDS}}[outcome]
            assert seen[transaction] in expected, (transaction, outcome)


def read(bootstrap: str, topic: str) -> Counter[str]:
    """How many records of each transaction a read_committed consumer sees."""
    return Counter(
        message.value().decode()
        for partition in range(PARTITIONS)
        for message in consume(bootstrap, topic, partition, isolation_level="read_committed")
    )

"""One worker of a transactional copy, as a process that can be killed: consume, transform, produce, commit offsets.

`python -m tests.crash.copying BOOTSTRAP SOURCE TARGET WORKER`
"""

from __future__ import annotations

import random
import sys
from typing import Final

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

from tests.workload.worker import QUICK, until_done

GROUP: Final = "copy"
COPIED: Final = "'"
"""What the transformation adds to a value."""
CHOSEN: Final = "aborted"
"""How a line begins that tells of a transaction that a worker has given up by its own choice."""
AT_ONCE: Final = 25
ABORTED: Final = 0.1
TIMEOUT_S: Final = 10.0
ABORT_TIMEOUT_S: Final = 0.5
POLL_S: Final = 0.05


class CopyWorker:
    """Copies what the group gives it, a transaction at a time."""

    def __init__(self, bootstrap: str, source: str, target: str, name: str) -> None:
        self.target, self.name = target, name
        self.chance = random.Random()
        self.batch: list[Message] = []
        common = {"bootstrap.servers": bootstrap, "client.id": name, **QUICK}
        # A worker that comes back shuts out the one that was killed.
        self.producer = Producer({**common, "transactional.id": name, "linger.ms": 1})
        until_done(lambda: self.producer.init_transactions(TIMEOUT_S))
        self.consumer = Consumer(
            {
                **common,
                "group.id": GROUP,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "session.timeout.ms": 1500,
                "heartbeat.interval.ms": 200,
                "fetch.wait.max.ms": 50,
            }
        )
        self.consumer.subscribe([source], on_revoke=self.gone, on_lost=self.gone)

    def gone(self, _consumer: Consumer, _partitions: list[TopicPartition]) -> None:
        """The share goes to others, who begin where the last transaction ended."""
        self.batch.clear()

    def run(self) -> None:
        """For ever: this is for being killed."""
        while True:
            self.collect()
            if self.batch:
                self.copy()
                self.batch.clear()

    def collect(self) -> None:
        """Some records; one by one, so that a rebalance in between can take them away."""
        message = self.consumer.poll(POLL_S)
        while message is not None:
            if message.error() is None:
                self.batch.append(message)
            if len(self.batch) >= AT_ONCE:
                return
            message = self.consumer.poll(0)

    def copy(self) -> None:
        """One transaction; after one that came to nothing, the same records again."""
        self.producer.begin_transaction()
        try:
            self.write()
            if self.chance.random() < ABORTED:
                raise Aborted
            until_done(lambda: self.producer.commit_transaction(TIMEOUT_S))
        except (Aborted, KafkaException) as failed:
            if isinstance(failed, KafkaException) and not failed.args[0].txn_requires_abort():
                raise
            until_done(lambda: self.producer.abort_transaction(ABORT_TIMEOUT_S))
            if isinstance(failed, Aborted):
                print(f"{CHOSEN} {self.name}", flush=True)
            self.rewind()

    def write(self) -> None:
        """Everything transformed, and the positions behind it."""
        for message in self.batch:
            value = message.value() + COPIED.encode()
            self.producer.produce(self.target, value, message.key())
            self.producer.poll(0)
        behind = {(each.topic(), each.partition()): each.offset() + 1 for each in self.batch}
        positions = [TopicPartition(*where, offset) for where, offset in behind.items()]
        metadata = self.consumer.consumer_group_metadata()
        until_done(
            lambda: self.producer.send_offsets_to_transaction(positions, metadata, TIMEOUT_S)
        )

    def rewind(self) -> None:
        """Back to the first record of each partition that is still ours."""
        first: dict[tuple[str, int], int] = {}
        for message in self.batch:
            first.setdefault((message.topic(), message.partition()), message.offset())
        owned = {(each.topic, each.partition) for each in self.consumer.assignment()}
        for where, offset in first.items():
            if where in owned:
                self.consumer.seek(TopicPartition(*where, offset))


class Aborted(Exception):
    """The worker has changed its mind."""


if __name__ == "__main__":
    CopyWorker(*sys.argv[1:]).run()

"""A process that reads, does something with what it reads, and commits, in one of three orders; it may kill itself."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Consumer, Message, Producer, TopicPartition

BATCH = 5
TIMEOUT_S = 20.0
NEVER = -1
Crash = Callable[[], None]


def at_least_once(client: Consumer, batch: list[Message], results: str, crash: Crash) -> None:
    """First the work, then the commit: after a crash in between, the work is done again."""
    _write_down(batch, results)
    crash()
    client.commit(asynchronous=False)


def at_most_once(client: Consumer, batch: list[Message], results: str, crash: Crash) -> None:
    """First the commit, then the work: after a crash in between, the work is not done at all."""
    client.commit(asynchronous=False)
    crash()
    _write_down(batch, results)


def _write_down(batch: list[Message], results: str) -> None:
    with Path(results).open("ab") as lines:
        lines.write(b"".join(message.value() + b"\n" for message in batch))


class ExactlyOnce:
    """The results are records, and count together with the commit or not at all."""

    def __init__(self, bootstrap: str, group: str) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": group})
        self._producer.init_transactions(TIMEOUT_S)

    def __call__(self, client: Consumer, batch: list[Message], results: str, crash: Crash) -> None:
        self._producer.begin_transaction()
        for message in batch:
            self._producer.produce(results, message.value())
        self._producer.flush(TIMEOUT_S)
        crash()
        next_offset = TopicPartition(batch[-1].topic(), 0, batch[-1].offset() + 1)
        self._producer.send_offsets_to_transaction(
            [next_offset], client.consumer_group_metadata(), TIMEOUT_S
        )
        self._producer.commit_transaction(TIMEOUT_S)


def run(mode: str, bootstrap: str, group: str, topic: str, results: str, crash_at: int) -> None:
    """Work through a topic of one partition; kill -9 in the midst of the batch that begins at the offset."""
    client = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            # A static member: who comes after it need not wait until it is missed.
            "group.instance.id": "worker",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
    )
    work = {"at-least-once": at_least_once, "at-most-once": at_most_once}.get(mode)
    work = work or ExactlyOnce(bootstrap, group)
    client.subscribe([topic])
    while batch := _next_batch(client):
        is_fatal = batch[0].offset() == crash_at
        work(client, batch, results, _kill_this_process if is_fatal else lambda: None)
    client.close()


def _next_batch(client: Consumer) -> list[Message]:
    """The next five records, or none at the end of the partition."""
    batch: list[Message] = []
    while len(batch) < BATCH:
        message = client.poll(TIMEOUT_S)
        if message is None or message.error() is not None:
            break
        batch.append(message)
    return batch


def _kill_this_process() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    run(*sys.argv[1:6], crash_at=int(sys.argv[6]))

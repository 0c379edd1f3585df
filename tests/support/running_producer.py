"""A producer that never rests, and the checker of what it was promised."""

import threading
from collections import defaultdict
from types import TracebackType
from typing import Self

from confluent_kafka import KafkaError, Message, Producer

from tests.support.clients import consume
from tests.support.waiting import wait_for

MAX_OUTSTANDING = 2000


class RunningProducer:
    """Sends numbered records to all partitions of a topic, as fast as they are acknowledged."""

    def __init__(self, bootstrap: str, topic: str, partitions: int, value_bytes: int = 200) -> None:
        self.topic, self.partitions, self.value_bytes = topic, partitions, value_bytes
        self.acked: dict[tuple[int, int], bytes] = {}
        self.errors: list[KafkaError] = []
        self.sent = 0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 1,
                "batch.num.messages": 50,
                "reconnect.backoff.ms": 5,
                "reconnect.backoff.max.ms": 20,
                "retry.backoff.ms": 5,
                "retry.backoff.max.ms": 20,
                "message.timeout.ms": 0,
                "log_level": 0,
            }
        )

    def _run(self) -> None:
        while not self._stopping.is_set():
            if len(self._producer) >= MAX_OUTSTANDING:
                self._producer.poll(0.005)
                continue
            value = b"%d" % self.sent
            self._producer.produce(
                self.topic,
                value.ljust(self.value_bytes, b"."),
                partition=self.sent % self.partitions,
                on_delivery=self._delivered,
            )
            self.sent += 1
            self._producer.poll(0)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.errors.append(error)
        else:
            self.acked[message.partition(), message.offset()] = message.value()

    def wait_for_acks(self, more: int, timeout_s: float = 20.0) -> None:
        """Wait until so many more records have been acknowledged."""
        wanted = len(self.acked) + more
        wait_for(lambda: len(self.acked) >= wanted, f"{more} more acks", timeout_s)

    def stop_at_once(self) -> None:
        """Stop, leaving unacknowledged what is unacknowledged."""
        self._stopping.set()
        self._thread.join(10)
        self._producer.purge(in_queue=True, in_flight=True)
        self._producer.flush(10)
        self.errors = [error for error in self.errors if not error.name().startswith("_PURGE")]

    def finish(self) -> None:
        """Stop sending, and wait until everything sent has been acknowledged."""
        self._stopping.set()
        self._thread.join(10)
        assert self._producer.flush(30) == 0, "the producer was never told what became of records"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stopping.set()
        self._thread.join(10)


def check_promises(bootstrap: str, running: RunningProducer) -> int:
    """What was acknowledged is there, once, in order, at its offset; returns how much is there."""
    assert running.errors == []
    stored: dict[int, list[bytes]] = defaultdict(list)
    for partition in range(running.partitions):
        messages = consume(bootstrap, running.topic, partition, check_crcs=True)
        assert [m.offset() for m in messages] == list(range(len(messages))), "offsets have gaps"
        stored[partition] = [message.value() for message in messages]
        numbers = [int(value.rstrip(b".")) for value in stored[partition]]
        assert numbers == sorted(set(numbers)), "records are doubled or out of order"
    for (partition, offset), value in running.acked.items():
        found = stored[partition][offset] if offset < len(stored[partition]) else None
        assert found == value, f"lost: {value[:20]!r} was acked at {partition}:{offset}"
    return sum(map(len, stored.values()))

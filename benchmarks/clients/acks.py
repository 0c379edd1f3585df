"""Produces steadily whatever happens to the cluster, and prints the longest time without an acknowledgement."""

from __future__ import annotations

import json
import select
import sys
import time
from contextlib import suppress
from itertools import pairwise
from typing import Any

from confluent_kafka import KafkaError, Message, Producer

from benchmarks.payloads import sample_values

PER_SECOND = 500
FIRST_WITHIN_SECONDS = 60.0
FLUSH_SECONDS = 30.0


class Acks:
    """When each record was acknowledged, and how many never will be."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.failed = 0

    def delivered(self, error: KafkaError | None, _message: Message) -> None:
        """Called by the producer for each record."""
        if error is None:
            self.times.append(time.monotonic())
        else:
            self.failed += 1

    def longest_gap_seconds(self, end: float) -> float:
        """Between two acknowledgements, or the last one and the end."""
        times = [each for each in self.times if each < end]
        return max(after - before for before, after in pairwise([*times, end]))


def _produce(producer: Producer, topic: str, value: bytes, acks: Acks) -> None:
    """One record, and a little time for what has come back."""
    until = time.monotonic() + 1 / PER_SECOND
    with suppress(BufferError):  # nothing has been acknowledged for a long time
        producer.produce(topic, value, partition=0, on_delivery=acks.delivered)
    while (left := until - time.monotonic()) > 0:
        producer.poll(left)


def _is_asked() -> bool:
    return bool(select.select([sys.stdin], [], [], 0)[0])


def main(spec: dict[str, Any]) -> dict[str, float]:
    """Says `ready`; tells how many acknowledgements have come for each line it reads; ends with its input."""
    producer = Producer({"bootstrap.servers": spec["bootstrap"], "log_level": 0, **spec["config"]})
    [value] = sample_values(1, spec["value_size"])
    acks = Acks()
    deadline = time.monotonic() + FIRST_WITHIN_SECONDS
    while not acks.times:
        _produce(producer, spec["topic"], value, acks)
        if time.monotonic() > deadline:
            raise TimeoutError("no record was acknowledged")
    print("ready", flush=True)
    while True:
        _produce(producer, spec["topic"], value, acks)
        if _is_asked():
            if not sys.stdin.readline():
                break
            print(len(acks.times), flush=True)
    end = time.monotonic()
    producer.flush(FLUSH_SECONDS)
    gap = acks.longest_gap_seconds(end)
    return {"longest_gap_seconds": gap, "acked": len(acks.times), "failed": acks.failed}


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))

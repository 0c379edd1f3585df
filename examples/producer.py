"""A producer: orders, one JSON object per line, into a topic.

    echo '{"customer": "alice", "item": "tea", "amount": 3}' | python examples/producer.py --topic orders

Three things make it one that you can rely on:

1. The key decides the partition, and a partition keeps its order: all orders of a customer are read in the order in
   which they were placed.
2. acks=all and enable.idempotence, both the default: what is reported as written is on every in-sync replica, and once,
   however often the connection broke on the way.
3. `send` only puts a record into a batch. Whether it was written is what the callback is told; `flush` waits for all.
"""

import argparse
import json
import sys
from collections.abc import Iterable

from ottla import OttlaError, Producer, RecordMetadata


class Tally:
    """Counts what became of the orders."""

    def __init__(self) -> None:
        self.written = 0
        self.failed = 0

    def __call__(self, where: RecordMetadata | None, error: Exception | None) -> None:
        """Called once for each record, in the producer's own thread."""
        if where is None:
            self.failed += 1
            print(f"not written: {error}", file=sys.stderr)
        else:
            self.written += 1


def send_orders(producer: Producer, topic: str, lines: Iterable[str]) -> Tally:
    """Send every order, wait until the last one is written, and say how many were."""
    tally = Tally()
    for line in lines:
        order = json.loads(line)
        producer.send(
            topic,
            order,
            key=order["customer"],
            headers=[("source", b"examples/producer.py")],
            on_delivery=tally,
        )
    producer.flush()
    return tally


def main() -> int:
    options = argparse.ArgumentParser(description="Orders from standard input into a topic.")
    options.add_argument("--bootstrap-server", default="localhost:9092")
    options.add_argument("--topic", default="orders")
    chosen = options.parse_args()

    settings = {
        "bootstrap.servers": chosen.bootstrap_server,
        "key.serializer": "string",
        "value.serializer": "json",
        "compression.type": "zstd",
        # A few milliseconds of patience make batches, and batches make it quick.
        "linger.ms": 5,
    }
    try:
        with Producer(settings) as producer:
            tally = send_orders(producer, chosen.topic, sys.stdin)
    except OttlaError as error:
        print(f"producer: {error}", file=sys.stderr)
        return 1
    print(f"{tally.written} orders written, {tally.failed} not")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())

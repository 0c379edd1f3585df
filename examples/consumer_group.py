"""A worker of a consumer group: start as many as you like, and they share the orders of a topic.

    python examples/consumer_group.py --topic orders --group shipping

Every order is handled at least once, whatever happens to the workers:

1. Offsets are committed after the orders were handled, never before. A worker that dies leaves behind orders that
   another handles again; so handling one twice must do no harm.
2. Partitions come and go only while `poll` waits, and by then everything is committed: when a worker joins or leaves,
   nothing is handled twice.
3. A worker that was silent for too long has lost its partitions to others, and hears of it when it commits. It goes on
   with what it is given next.
4. One that is told to stop leaves the group. The others take over at once, and not when it is missed.
"""

import argparse
import signal
import sys
from collections.abc import Callable

from ottla import ApiError, Consumer, ConsumerRecord, OttlaError, TopicPartition


def handle(order: ConsumerRecord) -> None:
    """Whatever there is to do for an order; here, to say so."""
    print(f"{order.partition}@{order.offset} {order.key}: {order.value['item']}", flush=True)


def work(consumer: Consumer, is_over: Callable[[], bool]) -> None:
    """Handle orders until it is over."""
    while not is_over():
        orders = consumer.poll(0.2, max_records=100)
        for order in orders:
            handle(order)
        if orders:
            commit(consumer)


def commit(consumer: Consumer) -> None:
    """Store how far everything was read; wait for it, since a crash repeats whatever is not stored."""
    try:
        consumer.commit()
    except ApiError as refused:
        print(f"others will handle these again: {refused}", file=sys.stderr, flush=True)


def announce(what: str) -> Callable[[list[TopicPartition]], None]:
    """A listener that tells which partitions come and go."""

    def tell(partitions: list[TopicPartition]) -> None:
        if partitions:
            numbers = sorted(each.partition for each in partitions)
            print(f"{what} {numbers}", file=sys.stderr, flush=True)

    return tell


def main() -> int:
    options = argparse.ArgumentParser(description="Handles orders, together with others.")
    options.add_argument("--bootstrap-server", default="localhost:9092")
    options.add_argument("--topic", default="orders")
    options.add_argument("--group", default="shipping")
    options.add_argument("--session-timeout-ms", type=int, default=10_000)
    chosen = options.parse_args()

    settings = {
        "bootstrap.servers": chosen.bootstrap_server,
        "group.id": chosen.group,
        "key.deserializer": "string",
        "value.deserializer": "json",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        # What a producer aborted, or has not committed yet, is no order.
        "isolation.level": "read_committed",
        "session.timeout.ms": chosen.session_timeout_ms,
        "heartbeat.interval.ms": chosen.session_timeout_ms // 5,
        # Partitions that a worker keeps in a rebalance go on being read meanwhile.
        "partition.assignment.strategy": "cooperative-sticky",
    }
    stops: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: stops.append(number))
    try:
        with Consumer(settings) as consumer:
            consumer.subscribe(
                [chosen.topic], on_assigned=announce("given"), on_revoked=announce("given away")
            )
            work(consumer, is_over=lambda: bool(stops))
    except OttlaError as error:
        print(f"consumer: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Exactly once into a database: the offset and the result are one transaction.

    python examples/exactly_once_sqlite.py --topic payments --database totals.db

Reads payments (key: an account, value: an amount) and keeps the total of each account in SQLite. Kill it wherever you
like, start it again, start several at once: no payment is counted twice, and none is left out.

Three rules make it so, and they hold for any database that has transactions:

1. Offsets live in the database, beside what was made of the records, and change in the same transaction. The group's
   committed offsets are not used; the group only shares the partitions among the workers.
2. Whoever is given a partition asks the database where to begin.
3. An offset moves on only from where the worker thinks it is. A worker that was asleep while another took over finds
   that it has moved, and gives up what it did: nothing that it holds in memory counts, only what it committed.
"""

import argparse
import signal
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable

from confluent_kafka import Consumer, Message, TopicPartition

TABLES = """
CREATE TABLE IF NOT EXISTS totals (account TEXT PRIMARY KEY, amount INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS offsets (
    topic TEXT, partition INTEGER, next_offset INTEGER NOT NULL, PRIMARY KEY (topic, partition)
);
"""
BATCH = 500


class Overtaken(Exception):
    """Another worker has gone on with a partition that this one thought to be its own."""


def open_database(path: str) -> sqlite3.Connection:
    """The database, with its tables; writers of several processes wait for each other."""
    database = sqlite3.connect(path, timeout=30, isolation_level=None)
    database.execute("PRAGMA journal_mode=WAL")
    database.executescript(TABLES)
    return database


def next_offset(database: sqlite3.Connection, topic: str, partition: int) -> int:
    """Where to go on in a partition: behind the last record that counts."""
    asked = "SELECT next_offset FROM offsets WHERE topic = ? AND partition = ?"
    found = database.execute(asked, (topic, partition)).fetchone()
    return found[0] if found else 0


def count(database: sqlite3.Connection, messages: Iterable[Message]) -> None:
    """Add payments to the totals and move the offsets behind them: all of it, or nothing."""
    by_partition: dict[tuple[str, int], list[Message]] = defaultdict(list)
    for message in messages:
        by_partition[message.topic(), message.partition()].append(message)
    database.execute("BEGIN IMMEDIATE")
    try:
        for (topic, partition), payments in by_partition.items():
            move_on(database, topic, partition, payments[0].offset(), payments[-1].offset() + 1)
            for payment in payments:
                add(database, payment.key().decode(), int(payment.value()))
        database.execute("COMMIT")
    except BaseException:
        database.execute("ROLLBACK")
        raise


def move_on(
    database: sqlite3.Connection, topic: str, partition: int, first: int, behind_last: int
) -> None:
    """Set the offset of a partition, provided that it has not passed the first record of the batch.

    It may lie before that record: offsets have gaps, where a log was compacted or a transaction ended.
    """
    moved = database.execute(
        "INSERT INTO offsets VALUES (?, ?, ?) ON CONFLICT (topic, partition) "
        "DO UPDATE SET next_offset = excluded.next_offset WHERE next_offset <= ?",
        (topic, partition, behind_last, first),
    )
    if moved.rowcount == 0:
        raise Overtaken(f"{topic}-{partition} has gone on past {first} without us")


def add(database: sqlite3.Connection, account: str, amount: int) -> None:
    """Add one payment to the total of its account."""
    database.execute(
        "INSERT INTO totals VALUES (?, ?) ON CONFLICT (account) "
        "DO UPDATE SET amount = amount + excluded.amount",
        (account, amount),
    )


def begin_where_the_database_is(database: sqlite3.Connection) -> Callable[..., None]:
    """What to do with partitions that this worker is given."""

    def on_assign(consumer: Consumer, partitions: list[TopicPartition]) -> None:
        for each in partitions:
            each.offset = next_offset(database, each.topic, each.partition)
        consumer.assign(partitions)

    return on_assign


def run(consumer: Consumer, database: sqlite3.Connection, is_over: Callable[[], bool]) -> None:
    """Count payments until it is over."""
    while not is_over():
        messages = [each for each in consumer.consume(BATCH, timeout=0.2) if not each.error()]
        if not messages:
            continue
        try:
            count(database, messages)
        except Overtaken:
            # The next poll brings the news that the partitions are another's; those that are still ours, or are ours
            # again, go on from what is written.
            begin_where_the_database_is(database)(consumer, consumer.assignment())


def main() -> None:
    options = argparse.ArgumentParser(description="Totals of payments, exactly once, in SQLite.")
    options.add_argument("--bootstrap-server", default="localhost:9092")
    options.add_argument("--topic", default="payments")
    options.add_argument("--group", default="totals")
    options.add_argument("--database", default="totals.db")
    options.add_argument("--session-timeout-ms", type=int, default=10_000)
    chosen = options.parse_args()

    database = open_database(chosen.database)
    consumer = Consumer(
        {
            "bootstrap.servers": chosen.bootstrap_server,
            "group.id": chosen.group,
            "session.timeout.ms": chosen.session_timeout_ms,
            "heartbeat.interval.ms": chosen.session_timeout_ms // 5,
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
        }
    )
    consumer.subscribe([chosen.topic], on_assign=begin_where_the_database_is(database))
    stops: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: stops.append(number))
    signal.signal(signal.SIGTERM, lambda number, _: stops.append(number))
    run(consumer, database, is_over=lambda: bool(stops))
    consumer.close()


if __name__ == "__main__":
    main()

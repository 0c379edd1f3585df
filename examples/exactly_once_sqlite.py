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
import sys
from collections.abc import Callable, Iterable

from confluent_kafka import Consumer, Message, TopicPartition

TABLES = """
CREATE TABLE IF NOT EXISTS totals (account TEXT PRIMARY KEY, amount INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS offsets (
    topic TEXT, partition INTEGER, next_offset INTEGER NOT NULL, PRIMARY KEY (topic, partition)
);
"""


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


def count(database: sqlite3.Connection, payments: Iterable[Message]) -> None:
    """Add payments to the totals and move the offsets past them: all of it, or nothing."""
    database.execute("BEGIN IMMEDIATE")
    try:
        for payment in payments:
            move_past(database, payment)
            add(database, (payment.key() or b"").decode(), int(payment.value() or 0))
        database.execute("COMMIT")
    except BaseException:
        database.execute("ROLLBACK")
        raise


def move_past(database: sqlite3.Connection, record: Message) -> None:
    """Move the offset of a partition past a record, unless it is past it already.

    It may lie before the record: offsets have gaps, where a log was compacted or a transaction ended.
    """
    moved = database.execute(
        "INSERT INTO offsets VALUES (?, ?, ? + 1) ON CONFLICT (topic, partition) "
        "DO UPDATE SET next_offset = excluded.next_offset WHERE next_offset < excluded.next_offset",
        (record.topic(), record.partition(), record.offset()),
    )
    if moved.rowcount == 0:
        raise Overtaken(f"{record.topic()}-{record.partition()} is past {record.offset()} already")


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


def run(
    consumer: Consumer, database: sqlite3.Connection, batch: int, is_over: Callable[[], bool]
) -> None:
    """Count payments until it is over."""
    while not is_over():
        messages = consumer.consume(batch, timeout=0.2)
        for each in messages:
            if each.error():
                print(f"going on in spite of: {each.error()}", file=sys.stderr)
        try:
            count(database, [each for each in messages if not each.error()])
        except Overtaken as news:
            # The next poll tells which partitions are still ours; those go on from what is written.
            print(f"beginning again: {news}", file=sys.stderr)
            begin_where_the_database_is(database)(consumer, consumer.assignment())


def main() -> None:
    options = argparse.ArgumentParser(description="Totals of payments, exactly once, in SQLite.")
    options.add_argument("--bootstrap-server", default="localhost:9092")
    options.add_argument("--topic", default="payments")
    options.add_argument("--group", default="totals")
    options.add_argument("--database", default="totals.db")
    options.add_argument("--batch", type=int, default=500, help="payments in one transaction")
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
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
        }
    )
    consumer.subscribe([chosen.topic], on_assign=begin_where_the_database_is(database))
    stops: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: stops.append(number))
    signal.signal(signal.SIGTERM, lambda number, _: stops.append(number))
    run(consumer, database, chosen.batch, is_over=lambda: bool(stops))
    consumer.close()


if __name__ == "__main__":
    main()

"""examples/exactly_once_sqlite.py: workers are killed and paused wherever they are, and every payment counts once."""

import random
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from examples.exactly_once_sqlite import Overtaken, count, next_offset, open_database
from tests.support.broker import OttlaBroker
from tests.support.clients import consume, create_topic, produce
from tests.support.waiting import wait_for

pytestmark = pytest.mark.compat

PROGRAM = Path(__file__).parents[2] / "examples" / "exactly_once_sqlite.py"
SETTINGS = {"group.initial.rebalance.delay.ms": "0", "group.min.session.timeout.ms": "1000"}
PARTITIONS = 4
PAYMENTS = 400
KILLS = 8


class Books:
    """Payments in a topic, the workers that count them, and what they should come to."""

    def __init__(self, bootstrap: str, database: Path) -> None:
        self.bootstrap, self.database = bootstrap, database
        self.topic = create_topic(bootstrap, "payments", partitions=PARTITIONS)
        self.totals: Counter[str] = Counter()
        self.paid = 0
        self.chance = random.Random(4)
        self.workers: list[subprocess.Popen[bytes]] = []
        self._reader = open_database(str(database))

    def pay(self) -> None:
        """Some more payments."""
        payments = [(f"account-{n % 7}", self.chance.randint(-50, 100)) for n in range(PAYMENTS)]
        produce(self.bootstrap, self.topic, [{"key": a, "value": str(v)} for a, v in payments])
        for account, amount in payments:
            self.totals[account] += amount
        self.paid += PAYMENTS

    def hire(self) -> subprocess.Popen[bytes]:
        """One more worker."""
        options = {
            "--bootstrap-server": self.bootstrap,
            "--topic": self.topic,
            "--database": str(self.database),
            "--batch": "20",
            "--session-timeout-ms": "1000",
        }
        arguments = [part for option in options.items() for part in option]
        self.workers.append(subprocess.Popen([sys.executable, str(PROGRAM), *arguments]))
        return self.workers[-1]

    def counted(self) -> int:
        """How many payments count so far: nothing else is in the topic."""
        (offsets,) = self._reader.execute("SELECT sum(next_offset) FROM offsets").fetchone()
        return offsets or 0

    def wait_until_counted(self, payments: int) -> None:
        wait_for(lambda: self.counted() >= payments, f"{payments} payments", 30, every_s=0.001)

    def close(self) -> None:
        self._reader.close()
        for worker in self.workers:
            worker.kill()
            worker.wait(10)


@pytest.fixture
def books(own_broker: Callable[..., OttlaBroker], tmp_path: Path) -> Iterator[Books]:
    books = Books(own_broker(SETTINGS).bootstrap, tmp_path / "totals.db")
    yield books
    books.close()


def in_the_books(books: Books) -> dict[str, int]:
    with sqlite3.connect(books.database) as database:
        totals = dict(database.execute("SELECT account, amount FROM totals").fetchall())
    database.close()
    return totals


def put_to_sleep(worker: subprocess.Popen[bytes], books: Books) -> bool:
    """Stop a worker, unless it is inside a transaction: then nobody else could write, for as long as it sleeps."""
    worker.send_signal(signal.SIGSTOP)
    database = sqlite3.connect(books.database, timeout=0, isolation_level=None)
    try:
        database.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError:
        worker.send_signal(signal.SIGCONT)
        return False
    finally:
        database.close()
    return True


def test_workers_are_killed_anywhere(books: Books) -> None:
    books.hire()
    for _ in range(KILLS):
        books.hire()
        books.pay()
        # Another point each time, in the midst of the work.
        books.wait_until_counted(books.paid - books.chance.randrange(PAYMENTS))
        victim = books.workers.pop(books.chance.randrange(2))
        victim.kill()
        victim.wait(10)
    books.wait_until_counted(books.paid)
    assert in_the_books(books) == books.totals


def test_a_worker_that_was_asleep_adds_nothing(books: Books) -> None:
    sleeper = books.hire()
    books.pay()
    books.wait_until_counted(PAYMENTS // 2)
    wait_for(lambda: put_to_sleep(sleeper, books), "a moment between two transactions")
    books.hire()
    books.pay()
    books.wait_until_counted(books.paid)
    sleeper.send_signal(signal.SIGCONT)
    books.pay()
    books.wait_until_counted(books.paid)
    assert in_the_books(books) == books.totals


def test_what_another_has_counted_is_not_counted_again(books: Books) -> None:
    books.pay()
    payments = consume(books.bootstrap, books.topic, partition=0)
    mine, theirs = open_database(str(books.database)), open_database(str(books.database))
    count(theirs, payments[:10])
    before = in_the_books(books)
    with pytest.raises(Overtaken, match="is past 9 already"):
        count(mine, payments[9:])
    assert in_the_books(books) == before
    assert next_offset(mine, books.topic, 0) == 10
    mine.close()
    theirs.close()

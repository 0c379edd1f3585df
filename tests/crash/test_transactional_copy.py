"""Read, process, write: several workers and the broker are killed again and again, and each record is copied once.

`make faults` copies 100,000 records instead of 10,000.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import IO, Final

import pytest

from tests.checker.check import check
from tests.checker.expectations import Copy, Expectations
from tests.checker.history import Action, Isolation, Operation
from tests.checker.report import Report
from tests.crash.copying import COPIED
from tests.support.broker import OttlaBroker
from tests.support.clients import create_topic, produce
from tests.support.waiting import wait_for
from tests.workload.readers import Reader, read_all
from tests.workload.recorder import Recorder
from tests.workload.worker import key_of

pytestmark = [pytest.mark.compat, pytest.mark.slow, pytest.mark.faults]

LONG = os.environ.get("OTTLA_FAULTS") == "1"
RECORDS: Final = 100_000 if LONG else 10_000
KILLS: Final = 50 if LONG else 8
PARTITIONS: Final = 4
WORKERS: Final = 3
KEYS: Final = 97
STALL_S: Final = 30.0
POLL_S: Final = 0.05
SETTINGS: Final = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "500",
    "transaction.state.log.num.partitions": "5",
    "offsets.topic.num.partitions": "5",
}


@dataclass(slots=True)
class Workers:
    """Processes that are replaced when they have ended, however they did."""

    arguments: tuple[str, ...]
    log: IO[bytes]
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, number: int) -> subprocess.Popen[bytes]:
        """Worker number so and so."""
        command = [sys.executable, "-m", "tests.crash.copying", *self.arguments, f"copy-{number}"]
        return subprocess.Popen(command, stdout=self.log, stderr=self.log)

    def replace_ended(self) -> None:
        """A worker that was killed, or has given up, comes back."""
        for number, process in enumerate(self.running):
            if process.poll() is not None:
                self.running[number] = self.start(number)

    def kill(self, number: int) -> None:
        """SIGKILL, in the midst of whatever it does."""
        self.running[number].kill()
        self.running[number].wait(10)


@contextmanager
def workers(broker: OttlaBroker, source: str, target: str) -> Iterator[Workers]:
    """A few workers at once."""
    with broker.data_dir.with_name("workers.log").open("wb") as log:
        found = Workers((broker.bootstrap, source, target), log)
        found.running = [found.start(number) for number in range(WORKERS)]
        try:
            yield found
        finally:
            for number in range(WORKERS):
                found.kill(number)


def seen_by(reader: Reader) -> int:
    """How many records a reader has been given so far."""
    polls = (each for each in reader.recorder.operations if each.action == Action.POLL)
    return sum(len(each.steps) for each in polls)


def mistreat(broker: OttlaBroker, found: Workers, reader: Reader) -> dict[str, int]:
    """Kill now a worker, now the broker, until everything is copied; how often whom."""
    chance = random.Random(RECORDS)
    kills = {"worker": 0, "broker": 0}

    def has_seen(count: int) -> bool:
        found.replace_ended()
        assert reader.failure is None, reader.failure
        return seen_by(reader) >= count

    for number in range(1, KILLS + 1):
        # Not before something was copied since the last one, nor before its share of all is.
        wanted = max(seen_by(reader) + 1, RECORDS * number // (KILLS + 1))
        if wanted > RECORDS:
            break
        wait_for(partial(has_seen, wanted), f"{wanted} records to be copied", STALL_S, POLL_S)
        victim = "worker" if number % 3 else "broker"
        kills[victim] += 1
        if victim == "worker":
            found.kill(chance.randrange(WORKERS))
        else:
            broker.kill()
            broker.start()
    wait_for(partial(has_seen, RECORDS), "all records to be copied", STALL_S, POLL_S)
    return kills


@pytest.mark.timeout(1800 if LONG else 120)
def test_each_record_is_copied_exactly_once_and_in_order(
    own_broker: Callable[..., OttlaBroker], capfd: pytest.CaptureFixture[str]
) -> None:
    broker = own_broker(SETTINGS)
    source, target = (create_topic(broker.bootstrap, partitions=PARTITIONS) for _ in range(2))
    values = ((b"k%d" % (n % KEYS), b"k%d.%d" % (n % KEYS, n)) for n in range(RECORDS))
    produce(broker.bootstrap, source, ({"key": key, "value": value} for key, value in values))
    inputs, outputs = ([key_of(topic, n) for n in range(PARTITIONS)] for topic in (source, target))
    recorder = Recorder()
    reader = Reader("during", broker.bootstrap, recorder, outputs, Isolation.COMMITTED)
    with workers(broker, source, target) as found:
        reader.start()
        kills = mistreat(broker, found, reader)
        seconds = recorder.now_ms / 1000
    reader.end()
    for keys in (inputs, outputs):
        whole = read_all(broker.bootstrap, recorder, keys, Isolation.COMMITTED)
        assert len(whole.steps) == RECORDS
    report = judge(recorder.operations, inputs, outputs)
    if LONG:
        with capfd.disabled():
            print(
                f"\n{RECORDS} records, {WORKERS} workers, {seconds:.0f} s; killed: {kills}; {report}"
            )
    assert report.valid, str(report)


def judge(operations: list[Operation], inputs: list[str], outputs: list[str]) -> Report:
    """Each record once, those of a key in order; and no reader was misled at any time."""
    copy = Copy(
        name="copy",
        inputs=frozenset(inputs),
        outputs=frozenset(outputs),
        original=lambda value: value.removesuffix(COPIED),
        record_key=lambda value: value.partition(".")[0],
    )
    return check(operations, Expectations(copies=(copy,)))

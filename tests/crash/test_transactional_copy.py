"""Read, process, write: several workers and the broker are killed again and again, and each record is copied once.

librdkafka speaks version 1 of transactions, Kafka's own clients version 2. `make faults` copies 100,000 records with
each, instead of 10,000 and 3,000.
"""

from __future__ import annotations

import itertools
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGKILL
from typing import IO, Final

import pytest

from ottla.coordination.transactions.records import decode_value
from ottla.coordination.transactions.state import State
from tests.checker.check import check
from tests.checker.expectations import Copy, Expectations
from tests.checker.history import Action, Isolation, Operation
from tests.checker.report import Report
from tests.crash.copying import CHOSEN, COPIED, GROUP
from tests.support.broker import OttlaBroker
from tests.support.clients import consume, create_topic, produce
from tests.support.java import compiled
from tests.support.ownership import (
    held_twice,
    owned_twice,
    written_generations,
    written_holdings,
)
from tests.support.requirements import requires
from tests.support.waiting import wait_for
from tests.workload.readers import Reader, read_all
from tests.workload.recorder import Recorder
from tests.workload.worker import key_of

pytestmark = [pytest.mark.compat, pytest.mark.slow, pytest.mark.faults]

LONG = os.environ.get("OTTLA_FAULTS") == "1"
PARTITIONS: Final = 4
STATE_PARTITIONS: Final = 5
KEYS: Final = 97
BROKER_EACH: Final = 3
"""Which kill is the broker's; the others are workers'."""
STALL_S: Final = 30.0
POLL_S: Final = 0.05
SETTINGS: Final = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "500",
    "group.consumer.min.session.timeout.ms": "1500",
    "group.consumer.session.timeout.ms": "1500",
    "group.consumer.min.heartbeat.interval.ms": "200",
    "group.consumer.heartbeat.interval.ms": "200",
    "transaction.state.log.num.partitions": str(STATE_PARTITIONS),
    "offsets.topic.num.partitions": "5",
}


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is copied, by how many, and how often one of them or the broker is killed."""

    records: int
    kills: int
    workers: int

    @property
    def victims(self) -> dict[str, int]:
        """How often whom."""
        brokers = self.kills // BROKER_EACH
        return {"worker": self.kills - brokers, "broker": brokers}


LIBRDKAFKA: Final = Plan(100_000, 50, 3) if LONG else Plan(10_000, 8, 3)
JAVA: Final = Plan(100_000, 50, 2) if LONG else Plan(3_000, 4, 2)


@dataclass(slots=True)
class Workers:
    """Processes that are replaced when they have ended, however they did."""

    command: Sequence[str]
    log: IO[bytes]
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, number: int) -> subprocess.Popen[bytes]:
        """Worker number so and so."""
        return subprocess.Popen([*self.command, f"copy-{number}"], stdout=self.log, stderr=self.log)

    def replace_ended(self) -> None:
        """A worker that was killed, or has given up, comes back."""
        for number, process in enumerate(self.running):
            if process.poll() is not None:
                self.running[number] = self.start(number)

    def kill(self, number: int) -> bool:
        """SIGKILL, in the midst of whatever it does; whether that was its end, and not something before."""
        self.running[number].kill()
        return self.running[number].wait(10) == -SIGKILL


@contextmanager
def workers(broker: OttlaBroker, command: Sequence[str], count: int) -> Iterator[Workers]:
    """A few workers at once."""
    with broker.data_dir.with_name("workers.log").open("wb") as log:
        found = Workers(command, log)
        found.running = [found.start(number) for number in range(count)]
        try:
            yield found
        finally:
            for number in range(count):
                found.kill(number)


@dataclass(slots=True)
class Mistreatment:
    """Feeds the workers, and kills now one of them, now the broker, as long as there is something to copy."""

    plan: Plan
    broker: OttlaBroker
    source: str
    found: Workers
    reader: Reader
    kills: dict[str, int] = field(default_factory=lambda: {"worker": 0, "broker": 0})
    chance: random.Random = field(default_factory=lambda: random.Random(1))
    fed: int = 0

    def run(self) -> None:
        """Somebody is killed when a share has just been begun, so that there is something to copy."""
        share = self.plan.records // (self.plan.kills + 1)
        self.feed(share)
        for number in range(1, self.plan.kills + 1):
            self.feed(share)
            self.wait_for_copies(share * number + 1)
            self.strike(number)
        self.feed(self.plan.records - self.fed)
        self.wait_for_copies(self.plan.records)

    def feed(self, count: int) -> None:
        """So many records more."""
        numbers = range(self.fed, self.fed + count)
        keys = (b"k%d" % (number % KEYS) for number in numbers)
        records = [
            {"key": key, "value": b"%s.%d" % (key, n)} for key, n in zip(keys, numbers, strict=True)
        ]
        produce(self.broker.bootstrap, self.source, records)
        self.fed += count

    def wait_for_copies(self, count: int) -> None:
        """Until a reader has seen so many; who has ended meanwhile comes back."""

        def has_seen() -> bool:
            self.found.replace_ended()
            assert self.reader.failure is None, self.reader.failure
            polls = (each for each in self.reader.recorder.operations if each.action == Action.POLL)
            return sum(len(each.steps) for each in polls) >= count

        wait_for(has_seen, f"{count} records to be copied", STALL_S, POLL_S)

    def strike(self, number: int) -> None:
        """SIGKILL for the broker, or for one of the workers that is alive."""
        if number % BROKER_EACH == 0:
            self.broker.kill()
            self.broker.start()
            self.kills["broker"] += 1
            return
        order = itertools.count(self.chance.randrange(self.plan.workers))
        while not self.found.kill(next(order) % self.plan.workers):
            self.found.replace_ended()
        self.kills["worker"] += 1


def copy_among_kills(
    broker: OttlaBroker, plan: Plan, command: Callable[[str, str], Sequence[str]]
) -> str:
    """A run of workers, each of which is this command for a source and a target; a line on it."""
    source, target = (create_topic(broker.bootstrap, partitions=PARTITIONS) for _ in range(2))
    inputs, outputs = ([key_of(topic, n) for n in range(PARTITIONS)] for topic in (source, target))
    recorder = Recorder()
    reader = Reader("during", broker.bootstrap, recorder, outputs, Isolation.COMMITTED)
    with workers(broker, command(source, target), plan.workers) as found:
        reader.start()
        mistreatment = Mistreatment(plan, broker, source, found, reader)
        mistreatment.run()
        seconds = recorder.now_ms / 1000
    reader.end()
    assert mistreatment.kills == plan.victims
    assert owned_twice(written_generations(broker.bootstrap, GROUP)) == []
    assert not any(map(held_twice, written_holdings(broker.bootstrap, GROUP)))
    aborts = assert_aborts_are_there(broker, target, plan)
    for keys in (inputs, outputs):
        whole = read_all(broker.bootstrap, recorder, keys, Isolation.COMMITTED)
        assert len(whole.steps) == plan.records
    report = judge(recorder.operations, inputs, outputs)
    assert report.valid, str(report)
    return f"{plan}, {seconds:.0f} s; killed: {mistreatment.kills}; {aborts} aborts; {report}"


def assert_aborts_are_there(broker: OttlaBroker, target: str, plan: Plan) -> int:
    """Workers have changed their minds, so often, and what they had written by then lies in the log."""
    told = broker.data_dir.with_name("workers.log").read_text(errors="replace").splitlines()
    chosen = sum(line.startswith(f"{CHOSEN} copy-") for line in told)
    written = sum(
        len(consume(broker.bootstrap, target, partition, isolation_level="read_uncommitted"))
        for partition in range(PARTITIONS)
    )
    assert chosen > 0
    assert written >= plan.records + chosen
    return chosen


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


def transaction_versions(bootstrap: str) -> set[int]:
    """Of all transactions that have been begun, as the coordinator wrote them down."""
    written = itertools.chain.from_iterable(
        consume(bootstrap, "__transaction_state", partition)
        for partition in range(STATE_PARTITIONS)
    )
    found = (decode_value(each.value()) for each in written if each.value() is not None)
    return {each.client_version for each in found if each.state == State.ONGOING}


@pytest.mark.timeout(1800 if LONG else 120)
def test_each_record_is_copied_exactly_once_and_in_order(
    own_broker: Callable[..., OttlaBroker], capfd: pytest.CaptureFixture[str]
) -> None:
    broker = own_broker(SETTINGS)
    program = (sys.executable, "-m", "tests.crash.copying", broker.bootstrap)
    line = copy_among_kills(broker, LIBRDKAFKA, lambda *topics: [*program, *topics])
    assert transaction_versions(broker.bootstrap) <= {0, 1}
    tell(line, capfd)


@pytest.mark.java
@pytest.mark.timeout(1800 if LONG else 120)
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_java_copies_exactly_once_with_transactions_of_version_2(
    own_broker: Callable[..., OttlaBroker], capfd: pytest.CaptureFixture[str], protocol: str
) -> None:
    requires("java", "javac", "maven")
    program = compiled(Path(__file__).with_name("CopyWorker.java"))
    broker = own_broker(SETTINGS)
    line = copy_among_kills(
        broker, JAVA, lambda *topics: [*program, broker.bootstrap, *topics, protocol]
    )
    assert transaction_versions(broker.bootstrap) == {2}
    tell(line, capfd)


def tell(line: str, capfd: pytest.CaptureFixture[str]) -> None:
    """What happened in a run that takes long."""
    if LONG:
        with capfd.disabled():
            print(f"\n{line}")

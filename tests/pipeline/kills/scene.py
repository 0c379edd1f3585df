"""A job, the brokers it reads from and writes to, and what it must have written in the end."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from confluent_kafka import IsolationLevel, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from ottla.pipeline.sink_steps import STEPS
from tests.pipeline.kills.driver import Driver, Steps, ancestor_executor
from tests.pipeline.kills.job import COPY, EVEN, FRAMES, ODD, Job
from tests.support.clients import consume, create_named, produce, unique_name
from tests.support.waiting import wait_for

PARTITIONS = 2
GROUPS = 5
MOST_LIVES = 8
REACHED_WITHIN_S = 600.0


class Brokers(Protocol):
    """One broker, or several."""

    count: int

    @property
    def bootstrap(self) -> str:
        """Where clients find them."""

    def crash(self, sink_id: str) -> None:
        """SIGKILL to the coordinator of a sink, and a new start or a fail-over."""


class Scene:
    """Runs one job through several lives."""

    def __init__(self, brokers: Brokers, directory: Path, job: Job, rows: int) -> None:
        self.brokers = brokers
        self.steps = Steps(directory / "steps")
        self.log_file = directory / "driver.log"
        names = {"source": unique_name("in"), "sink": unique_name("out")}
        self.job = replace(
            job, bootstrap=brokers.bootstrap, checkpoint=str(directory / "checkpoint"), **names
        )
        self.given = [f"{'abcde'[n % GROUPS]}-{n}" for n in range(rows)]
        self.driver: Driver | None = None
        for topic in (self.job.source, *self._sinks()):
            create_named(brokers.bootstrap, topic, PARTITIONS, replicas=brokers.count)
        produce(brokers.bootstrap, self.job.source, [row.encode() for row in self.given])

    # --- what happens to the job

    def hold(self, step: str) -> int:
        """Let the job come to a step, beginning a life if it has none; the process that waits there."""
        self.steps.arm(step)
        found: int | None = None

        def there() -> bool:
            nonlocal found
            found = self.steps.reached_by(step)
            if found is None and (self.driver is None or not self.driver.running):
                self.driver = Driver(self.job, self.steps, self.log_file)
            return found is not None

        wait_for(there, f"the job to reach {step}", REACHED_WITHIN_S)
        assert found is not None
        return found

    def strike(self, step: str, victim: str) -> None:
        """Hold the job at a step, kill a part of it there, and let the rest go on."""
        process = self.hold(step)
        VICTIMS[victim](self, process, step)
        self.steps.let_go(step)

    def kill_driver(self) -> None:
        """The whole application is gone."""
        if self.driver is not None:
            self.driver.kill()
            self.driver = None

    def kill_executor(self, process: int) -> None:
        """The executor of the process, or any."""
        assert self.driver is not None
        mine = ancestor_executor(process)
        for pid in [mine] if mine is not None else self.driver.executors()[:1]:
            os.kill(pid, signal.SIGKILL)

    def sink_id(self) -> str:
        """The name of the sink, which is that of the query."""
        text = Path(self.job.checkpoint, "metadata").read_text()
        found: str = json.loads(text)["id"]
        return found

    def finish(self) -> None:
        """Let the job run to its end, beginning anew where it failed."""
        for step in STEPS:
            self.steps.disarm(step)
        for _ in range(MOST_LIVES):
            if self.driver is None:
                self.driver = Driver(self.job, self.steps, self.log_file)
            ended_well = self.driver.finished()
            if ended_well:
                return
            self.driver = None
        log = self.log_file.read_text(errors="replace")
        raise AssertionError(f"the job failed {MOST_LIVES} times:\n{log[-4000:]}")

    # --- what it must have written

    def check(self) -> None:
        """Each row counts once, nothing else does, and no transaction is left open."""
        wrong = self.differences()
        assert not wrong, f"{len(wrong)} rows are not there as often as they should be: {wrong[:5]}"
        for topic in self._sinks():
            wait_for(lambda topic=topic: self._is_stable(topic), f"all of {topic} to be decided")

    def differences(self) -> list[tuple[str, int, int]]:
        """Rows with how often they should be there, and are."""
        expected, found = self.expected(), Counter[str]()
        for topic in self._sinks():
            found.update(f"{topic} {row}" for row in self._written(topic))
        rows = sorted(expected.keys() | found.keys())
        return [(row, expected[row], found[row]) for row in rows if expected[row] != found[row]]

    def expected(self) -> Counter[str]:
        """The rows that should be there, behind the names of their topics."""
        sink = self.job.sink
        if self.job.kind == COPY:
            return Counter(f"{sink} {row}" for row in self.given)
        if self.job.kind == FRAMES:
            ends = (EVEN, ODD)
            return Counter(f"{sink}{ends[n % 2]} {row}" for n, row in enumerate(self.given))
        return self._expected_counts()

    def _expected_counts(self) -> Counter[str]:
        """One row for each batch and group: with rising counts, the last of which is the whole."""
        sink, whole = self.job.sink, Counter(row[0] for row in self.given)
        expected: Counter[str] = Counter()
        for group in whole:
            rows = [row for row in self._written(sink) if row.startswith(group)]
            counts = [int(row.partition("=")[2]) for row in rows]
            assert counts == sorted(set(counts)), f"counts of {group} go back or repeat: {counts}"
            assert counts[-1:] == [whole[group]], f"{group}: {counts} of {whole[group]}"
            expected.update(f"{sink} {row}" for row in rows)
        return expected

    def _sinks(self) -> list[str]:
        if self.job.kind == FRAMES:
            return [self.job.sink + EVEN, self.job.sink + ODD]
        return [self.job.sink]

    def _written(self, topic: str) -> list[str]:
        return [
            message.value().decode()
            for partition in range(PARTITIONS)
            for message in consume(
                self.brokers.bootstrap, topic, partition, isolation_level="read_committed"
            )
        ]

    def _is_stable(self, topic: str) -> bool:
        client = AdminClient({"bootstrap.servers": self.brokers.bootstrap})
        ends = []
        for level in (IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED):
            asked = {TopicPartition(topic, n): OffsetSpec.latest() for n in range(PARTITIONS)}
            found = client.list_offsets(asked, isolation_level=level)
            ends.append([future.result(10).offset for future in found.values()])
        return ends[0] == ends[1]


# --- who is killed: a function of the scene, the process that waits, and its step


def _driver(scene: Scene, process: int, step: str) -> None:
    scene.kill_driver()


def _driver_soon(scene: Scene, process: int, step: str) -> None:
    scene.steps.let_go(step)
    time.sleep(random.uniform(0, 0.03))
    scene.kill_driver()


def _executor(scene: Scene, process: int, step: str) -> None:
    scene.kill_executor(process)


def _worker(scene: Scene, process: int, step: str) -> None:
    os.kill(process, signal.SIGKILL)


def _broker(scene: Scene, process: int, step: str) -> None:
    scene.brokers.crash(scene.sink_id())


def _broker_soon(scene: Scene, process: int, step: str) -> None:
    scene.steps.let_go(step)
    time.sleep(random.uniform(0, 0.03))
    scene.brokers.crash(scene.sink_id())


def _sleep(scene: Scene, process: int, step: str) -> None:
    """The worker sleeps past the time-out of its sink, and wakes up as if nothing had happened."""
    os.kill(process, signal.SIGSTOP)
    time.sleep(3)
    with suppress(ProcessLookupError):  # its part may have been given to another worker
        os.kill(process, signal.SIGCONT)


VICTIMS: dict[str, Callable[[Scene, int, str], None]] = {
    "driver": _driver,
    "driver-soon": _driver_soon,
    "executor": _executor,
    "worker": _worker,
    "broker": _broker,
    "broker-soon": _broker_soon,
    "sleep": _sleep,
}

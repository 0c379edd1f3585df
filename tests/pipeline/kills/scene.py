"""An application, the brokers it reads from and writes to, and who is killed while its jobs are held at steps."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from ottla.pipeline.sink_steps import (
    FIRST_SENT,
    PART_SKIPPED,
    PART_WRITTEN,
    SINK_OPENED,
    SLOT_OPENED,
)
from tests.pipeline.kills import output
from tests.pipeline.kills.application import Application, Job
from tests.pipeline.kills.brokers import Brokers, steps_of
from tests.pipeline.kills.driver import Driver, Steps, ancestor_executor, is_alive
from tests.pipeline.kills.held_broker import ABORTING
from tests.pipeline.kills.output import Given
from tests.pipeline.kills.reader import CommittedReader, torn, unsteady
from tests.pipeline.kills.standalone import SparkCluster
from tests.support.clients import create_named, produce, unique_name
from tests.support.waiting import wait_for

GROUPS = "abcde"
ROWS_PER_ROUND = 20
MOST_LIVES = 8
REACHED_WITHIN_S = 60.0
DECIDED_WITHIN_S = 30.0
OVERTAKEN_WITHIN_S = 20.0
TIMED_OUT_WITHIN_S = 10.0
AGAIN_S = 5.0
SHORT_GRACE_S = 3.0
GRACE_S = {"driver": REACHED_WITHIN_S, "sleep": REACHED_WITHIN_S}
OVERTAKEN = {SINK_OPENED, SLOT_OPENED, FIRST_SENT, PART_WRITTEN, PART_SKIPPED}
"""Where tasks wait: with speculation their second attempts end the batch in a second or two, and they are gone."""
BEFORE_OVERTAKEN_S = 0.5


class Strike(NamedTuple):
    """Who was killed at which step of which kind of job."""

    victim: str
    step: str
    kind: str


class Scene:
    """Runs the jobs of one application through several lives; `patience` is for machines with other work to do."""

    def __init__(
        self,
        brokers: Brokers,
        directory: Path,
        jobs: Sequence[Job],
        spark: SparkCluster,
        *,
        sink_timeout: str = "15m",
        patience: float = 1.0,
    ) -> None:
        self.brokers = brokers
        self.directory = directory
        self.log_file = directory / "driver.log"
        self.driver: Driver | None = None
        self.given: list[Given] = []
        self.struck: Counter[Strike] = Counter()
        self.jobs = [replace(job, sink=unique_name(job.sink)) for job in jobs]
        self.steps = {job.sink: Steps(steps_of(directory) / job.sink) for job in self.jobs}
        self._spark = spark
        self.patience = patience
        self.application = Application(
            brokers.bootstrap,
            unique_name("in"),
            str(directory),
            tuple(self.jobs),
            spark.master,
            sink_timeout=sink_timeout,
        )
        for topic in (self.application.source, *self._topics()):
            create_named(brokers.bootstrap, topic, output.PARTITIONS, replicas=brokers.count)
        self._right = [job for job in self.jobs if job.format == "ottla"]
        partitions = output.partitions(self._right)
        self.reader = CommittedReader(brokers.bootstrap, partitions, random.getrandbits(32))

    # --- what happens to the jobs

    def strike(self, victim: str, at: Mapping[str, str]) -> None:
        """Hold the jobs, by the names of their sinks, at steps; kill there; and let the rest go on."""
        for sink in at:
            # Whatever is given up on the way is in the middle of that when the strike comes.
            self.steps[sink].arm(ABORTING)
        may_be_overtaken = self._spark.speculates and OVERTAKEN.intersection(at.values())
        grace_s = GRACE_S.get(victim, SHORT_GRACE_S) * self.patience
        held = self.hold(at, BEFORE_OVERTAKEN_S if may_be_overtaken else grace_s)
        aborting = {sink for sink in at if self.steps[sink].reached_by(ABORTING) is not None}
        struck = VICTIMS[victim](self, held)
        for sink in struck:
            self.count(victim, sink, at[sink])
        for sink in aborting.intersection(struck):
            self.count(victim, sink, ABORTING)
        self.let_go()

    def hold(self, at: Mapping[str, str], grace_s: float = REACHED_WITHIN_S) -> dict[str, int]:
        """Let the jobs come to steps, beginning a life if there is none; the processes that wait there.

        Those that are there first wait no longer than `grace_s`: a second attempt may overtake them.
        """
        for sink, step in at.items():
            self.steps[sink].arm(step)
        began_s = given_s = first_s = time.monotonic()
        self.give()
        while True:
            self.live()
            found = {sink: self.steps[sink].reached_by(step) for sink, step in at.items()}
            held = {sink: process for sink, process in found.items() if process is not None}
            now_s = time.monotonic()
            first_s = first_s if held else now_s
            if len(held) == len(at) or now_s > first_s + grace_s:
                return held
            in_time = now_s < began_s + REACHED_WITHIN_S * self.patience
            assert held or in_time, f"no job came to its step: {at}"
            if now_s > given_s + AGAIN_S * self.patience:
                self.give()
                given_s = now_s
            time.sleep(0.02)

    def live(self) -> None:
        """There is a driver."""
        if self.driver is None or not self.driver.running:
            steps, sessions = steps_of(self.directory), self._spark.sessions
            self.driver = Driver(self.application, steps, self.log_file, sessions)

    def let_go(self) -> None:
        """Nobody is held."""
        for steps in self.steps.values():
            steps.clear()

    def give(self, count: int = ROWS_PER_ROUND) -> None:
        """More input."""
        numbers = range(len(self.given), len(self.given) + count)
        rows = [f"{GROUPS[n % len(GROUPS)]}-{n}" for n in numbers]
        sent = produce(
            self.brokers.bootstrap, self.application.source, [row.encode() for row in rows]
        )
        self.given += [
            Given(row, message.partition(), message.offset())
            for row, message in zip(rows, sent, strict=True)
        ]

    def count(self, victim: str, sink: str, step: str) -> None:
        """Remember a strike."""
        kind = next(job.kind for job in self.jobs if job.sink == sink)
        self.struck[Strike(victim, step, kind)] += 1

    def kill_driver(self) -> None:
        """The whole application is gone."""
        if self.driver is not None:
            self.driver.kill()
            self.driver = None

    def finish(self) -> None:
        """Let the jobs run to their end, beginning anew where they failed."""
        self.let_go()
        self.application.over.touch()
        for _ in range(MOST_LIVES):
            self.live()
            assert self.driver is not None
            ended_well = self.driver.finished(self.patience)
            self.driver = None
            if ended_well:
                return
        raise AssertionError(f"the application failed {MOST_LIVES} times")

    def end(self) -> None:
        """Leave nothing behind."""
        self.kill_driver()
        self.reader.stop()

    # --- what they must have written

    def check(self) -> None:
        """Each row counts once, nothing else ever did, no batch was seen in part, and nothing is left open."""
        which = output.partitions(self._right)
        bootstrap, within_s = self.brokers.bootstrap, DECIDED_WITHIN_S * self.patience
        ends = wait_for(
            lambda: output.decided_ends(bootstrap, which), "all to be decided", within_s
        )
        wait_for(lambda: not self.reader.is_behind(ends), "the reader to see all", within_s)
        self.reader.stop()
        wrong = [each for job in self._right for each in self._flaws(job)]
        assert not wrong, f"{len(wrong)} flaws: {wrong[:5]}"

    def differences(self, job: Job) -> list[str]:
        """Rows of a job that are not there as often as they should be."""
        found = []
        for topic, rows in self._expected(job).items():
            read = [output.written(self.brokers.bootstrap, each) for each in _partitions(topic)]
            values = [value for part in read for value in part.values()]
            found += [f"{topic} has {row} {n} times" for row, n in output.differences(rows, values)]
        return found

    def _flaws(self, job: Job) -> list[str]:
        flaws = self.differences(job)
        for topic, rows in self._expected(job).items():
            for partition in _partitions(topic):
                final = output.written(self.brokers.bootstrap, partition)
                shown = self.reader.shown[partition]
                seen = [*unsteady(shown, final), *(torn(shown, rows) if not flaws else ())]
                flaws += [f"{partition}: {flaw}" for flaw in seen]
        return flaws

    def _expected(self, job: Job) -> dict[str, dict[str, int]]:
        plan = output.planned(self.directory / "checkpoints" / job.sink)
        return output.expected(job, output.batches(self.given, plan))

    def _topics(self) -> list[str]:
        return [topic for job in self.jobs for topic in output.topics(job)]


def _partitions(topic: str) -> list[output.TopicPartition]:
    return [output.TopicPartition(topic, number) for number in range(output.PARTITIONS)]


# --- who is killed: a function of the scene and the processes that wait, which tells the sinks that were struck


def _driver(scene: Scene, held: dict[str, int]) -> list[str]:
    scene.kill_driver()
    return list(held)


def _executor(scene: Scene, held: dict[str, int]) -> list[str]:
    """The executors of the tasks that wait; any, where only drivers and brokers do."""
    assert scene.driver is not None
    found = {ancestor_executor(process) for process in held.values()} - {None}
    for victim in found or scene.driver.executors()[:1]:
        with suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
    return list(held)


def _worker(scene: Scene, held: dict[str, int]) -> list[str]:
    struck = []
    for sink, process in held.items():
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
            struck.append(sink)
    return struck


def _broker(scene: Scene, held: dict[str, int]) -> list[str]:
    scene.brokers.crash(next(iter(held)))
    return list(held)


def _twin(scene: Scene, held: dict[str, int]) -> list[str]:
    """Nobody is killed: a task that stands still is overtaken by its second attempt, and loses."""
    left = dict(held)

    def overtaken() -> bool:
        for sink, process in list(left.items()):
            if not is_alive(process):
                del left[sink]
        return not left

    with suppress(AssertionError):
        wait_for(overtaken, "the second attempts to win", OVERTAKEN_WITHIN_S * scene.patience)
    return [sink for sink in held if sink not in left]


def _sleep(scene: Scene, held: dict[str, int]) -> list[str]:
    """Workers sleep past the time-out of their sinks, and wake up as if nothing had happened."""
    for process in held.values():
        os.kill(process, signal.SIGSTOP)
    for sink in held:
        scene.steps[sink].arm(ABORTING)
    for sink in held:
        # Nobody else is there to give the group up: its driver waits for the task that sleeps.
        wait_for(
            lambda sink=sink: scene.steps[sink].reached_by(ABORTING),
            f"{sink} to time out",
            TIMED_OUT_WITHIN_S * scene.patience,
        )
    for process in held.values():
        os.kill(process, signal.SIGCONT)
    return list(held)


VICTIMS: dict[str, Callable[[Scene, dict[str, int]], list[str]]] = {
    "driver": _driver,
    "executor": _executor,
    "worker": _worker,
    "broker": _broker,
    "coordinator": _broker,
    "twin": _twin,
    "sleep": _sleep,
}

"""Which jobs are struck where: each step of the protocol, by each victim that can be killed there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from ottla.pipeline.sink_steps import (
    AFTER_COMMIT,
    BEFORE_COMMIT,
    FIRST_SENT,
    PART_COMMITTED,
    PART_SKIPPED,
    PART_WRITTEN,
    SINK_OPENED,
    SLOT_OPENED,
)
from tests.pipeline.kills.application import COPY, COUNT, FRAMES, Job
from tests.pipeline.kills.brokers import Brokers, one_broker, steps_of, three_brokers
from tests.pipeline.kills.held_broker import DECIDED, FIRST_MARKER
from tests.pipeline.kills.mutants import COMMIT_PER_TASK, NO_LEDGER
from tests.pipeline.kills.scene import Scene
from tests.pipeline.kills.standalone import SparkCluster, standalone

THREADS = "local[8,100]"
STANDALONE = ""
"""A cluster of its own for each plan."""
OF_TASKS = (SINK_OPENED, SLOT_OPENED, FIRST_SENT, PART_WRITTEN)
OF_ALL = (*OF_TASKS, BEFORE_COMMIT, DECIDED, FIRST_MARKER)
MOST_ROUNDS = 4
ALL_KINDS = (COPY, COUNT, FRAMES, COPY, COUNT, COPY, FRAMES)
MUTANT_STEPS = {COMMIT_PER_TASK: PART_COMMITTED, NO_LEDGER: AFTER_COMMIT}


@dataclass(frozen=True)
class Plan:
    """Who is struck at which steps; `skips` says whether also tasks are that find their batch committed."""

    victims: Mapping[str, Sequence[str]]
    master: str
    kinds: Sequence[str]
    brokers: int = 1
    skips: bool = True
    sink_timeout: str = "15m"

    def carry_out(self, runs: int, directory: Path, patience: float) -> Scene:
        """Strike each step at least `runs` times, let the jobs end, and look at what they wrote."""
        made: AbstractContextManager[Brokers]
        made = one_broker(directory) if self.brokers == 1 else three_brokers(directory)
        with made as brokers, self._spark(directory, patience) as spark:
            jobs = [Job(kind, kind) for kind in self.kinds]
            scene = Scene(
                brokers,
                directory,
                jobs,
                spark,
                sink_timeout=self.sink_timeout,
                patience=patience,
            )
            try:
                self._strike(scene, runs)
                scene.finish()
                scene.check()
            finally:
                scene.end()
            return scene

    def _spark(self, directory: Path, patience: float) -> AbstractContextManager[SparkCluster]:
        if self.master == STANDALONE:
            return standalone(directory, steps_of(directory), patience)
        return nullcontext(SparkCluster(self.master))

    def _strike(self, scene: Scene, runs: int) -> None:
        sinks = [job.sink for job in scene.jobs]
        for victim, steps in self.victims.items():
            for number in range(MOST_ROUNDS * runs):
                if all(_count(scene, victim, step) >= runs for step in steps):
                    break
                turn = {sink: (number + n) % len(steps) for n, sink in enumerate(sinks)}
                scene.strike(victim, {sink: steps[n] for sink, n in turn.items()})
        for victim in self.victims if self.skips else ():
            while _count(scene, victim, PART_SKIPPED) < runs:
                # Only a batch that was committed, and of which Spark knows nothing, is skipped, and only once.
                scene.strike("driver", dict.fromkeys(sinks, AFTER_COMMIT))
                scene.strike(victim, dict.fromkeys(sinks, PART_SKIPPED))


def _count(scene: Scene, victim: str, step: str) -> int:
    return sum(count for each, count in scene.struck.items() if each[:2] == (victim, step))


ANYWHERE = (*OF_ALL, AFTER_COMMIT)
PLANS: Mapping[str, Plan] = {
    "driver": Plan({"driver": OF_ALL}, THREADS, ALL_KINDS),
    "cluster": Plan(
        {"worker": OF_TASKS, "executor": ANYWHERE, "broker": ANYWHERE, "driver": ANYWHERE},
        STANDALONE,
        ALL_KINDS,
    ),
    "twin": Plan({"twin": OF_TASKS}, STANDALONE, (COPY, COUNT, FRAMES, COPY), skips=False),
    "coordinator": Plan({"coordinator": ANYWHERE}, STANDALONE, ALL_KINDS, brokers=3),
    "sleep": Plan({"sleep": [FIRST_SENT]}, THREADS, (COPY, COUNT), skips=False, sink_timeout="2s"),
}


def catch_mutants(directory: Path, patience: float) -> Scene:
    """Kill a driver where the sinks that lack a promise must show it."""
    jobs = [Job(name, COPY, name) for name in MUTANT_STEPS]
    with one_broker(directory) as brokers:
        scene = Scene(brokers, directory, jobs, SparkCluster(THREADS), patience=patience)
        try:
            scene.strike("driver", {job.sink: MUTANT_STEPS[job.format] for job in scene.jobs})
            scene.finish()
            for job in scene.jobs:
                assert scene.differences(job), f"{job.format} was not caught"
        finally:
            scene.end()
        return scene

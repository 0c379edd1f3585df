"""Runs the scenarios: brokers take turns, each warmed before its values count."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.clusters import CLUSTERS, ON_ALL_CORES
from benchmarks.contestants import CONTESTANTS, Contestant
from benchmarks.results import Measured, Results, Row
from benchmarks.scenarios import all_rows
from benchmarks.scenarios.cluster import AFTER_THE_CLUSTER_RUN, memory_rows
from benchmarks.scenarios.footprint import AFTER_THE_RUN
from benchmarks.scenarios.scenario import Part, Scale, Scenario
from benchmarks.spark import SPARKS
from benchmarks.tables import number


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run, how often, and where the brokers may keep their data."""

    names: tuple[str, ...]
    scenarios: tuple[Scenario, ...]
    runs: int
    scale: Scale
    data_dir: Path


@dataclass(slots=True)
class Outcome:
    """Whether a step came to its end."""

    succeeded: bool = True


class Runner:
    """Carries out a plan and collects the results."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.results = Results(all_rows())
        self.failures: list[str] = []
        self._running: list[Contestant] = []

    def run(self) -> Results:
        """Runs every scenario of one part, then of the next."""
        for part in Part:
            self._run_part(part, [each for each in self.plan.scenarios if each.part is part])
        return self.results

    def _run_part(self, part: Part, scenarios: Sequence[Scenario]) -> None:
        """Starts the brokers, runs every scenario, and reads their memory at the end."""
        shared = [scenario for scenario in scenarios if not scenario.fresh_broker]
        if shared:
            with self._brokers(part) as brokers:
                for scenario in shared:
                    self._run_shared(scenario, brokers)
                self._memory_after(part, brokers)
        for scenario in scenarios:
            if scenario.fresh_broker:
                self._run_fresh(scenario)

    @contextmanager
    def _brokers(self, part: Part) -> Iterator[list[Contestant]]:
        try:
            for name in self.plan.names:
                _say(f"starting {name}")
                broker = _contestant(part, name, self.plan.data_dir / name)
                self._running.append(broker)
                broker.start()
            yield self._running
        finally:
            while self._running:
                _remove(self._running.pop())

    def _run_shared(self, scenario: Scenario, brokers: Sequence[Contestant]) -> None:
        """Warms each broker, then lets them take turns; one that fails leaves this scenario."""
        active = [broker for broker in brokers if self._warmed(scenario, broker)]
        for run in range(self._runs(scenario)):
            in_turn = active if run % 2 == 0 else active[::-1]
            active = [broker for broker in in_turn if self._measured(scenario, broker, run)]
            active.sort(key=brokers.index)
        for broker in brokers:
            with suppress(Exception):  # what made it fail has been reported
                scenario.clean_up(broker)

    def _warmed(self, scenario: Scenario, broker: Contestant) -> bool:
        """Prepares the broker and does the runs that do not count."""
        with self._reporting(scenario, broker) as outcome:
            scenario.prepare(broker, self.plan.scale)
            if scenario.warming_runs and not self.plan.scale.quick:
                _say(f"{scenario.name}: warming {broker.name}")
                for _ in range(scenario.warming_runs):
                    scenario.measure(broker, self.plan.scale)
        return outcome.succeeded

    def _run_fresh(self, scenario: Scenario) -> None:
        """Gives each run a broker without a past."""
        for run in range(self._runs(scenario)):
            for name in self.plan.names:
                broker = _contestant(scenario.part, name, self.plan.data_dir / f"{name}-fresh")
                try:
                    with self._reporting(scenario, broker) as outcome:
                        broker.start()
                    if outcome.succeeded:
                        self._measured(scenario, broker, run)
                finally:
                    _remove(broker)

    def _runs(self, scenario: Scenario) -> int:
        runs = self.plan.runs
        if not self.plan.scale.quick:
            runs *= scenario.runs_for_one
        return min(runs, scenario.max_runs or runs)

    def _measured(self, scenario: Scenario, broker: Contestant, run: int) -> bool:
        """Does a run that counts."""
        with self._reporting(scenario, broker) as outcome:
            self._settle()
            measured = scenario.measure(broker, self.plan.scale)
            self.results.add(broker.name, measured)
            figures = _figures(measured, scenario.rows)
            _say(f"{scenario.name}: run {run + 1}/{self._runs(scenario)} {broker.name} {figures}")
        return outcome.succeeded

    def _settle(self) -> None:
        """Lets deletions and writes of earlier runs end: nobody pays for what others left."""
        for broker in self._running:
            broker.wait_until_deleted()
        os.sync()

    def _memory_after(self, part: Part, brokers: Sequence[Contestant]) -> None:
        if part in (Part.CORES, Part.SPARK):
            return
        for broker in brokers:
            if part is Part.SINGLE:
                values = {AFTER_THE_RUN.name: broker.memory_mb()}
            else:
                names = (row.name for row in AFTER_THE_CLUSTER_RUN)
                values = dict(zip(names, memory_rows(broker), strict=True))
            self.results.add(broker.name, Measured(values))

    @contextmanager
    def _reporting(self, scenario: Scenario, broker: Contestant) -> Iterator[Outcome]:
        """Notes a failure: it must not cost the results of the other broker and scenarios."""
        outcome = Outcome()
        try:
            yield outcome
        except Exception as error:
            outcome.succeeded = False
            kind = type(error).__name__
            self.failures.append(f"{scenario.name}: {broker.name} failed: {kind}: {error}")
            _say(self.failures[-1])


def _contestant(part: Part, name: str, data_dir: Path) -> Contestant:
    kinds: dict[Part, Mapping[str, Callable[[Path], Contestant]]] = {
        Part.SINGLE: CONTESTANTS,
        Part.CORES: ON_ALL_CORES,
        Part.CLUSTER: CLUSTERS,
        Part.SPARK: SPARKS,
    }
    return kinds[part][name](data_dir)


def _remove(broker: Contestant) -> None:
    broker.stop()
    shutil.rmtree(broker.data_dir, ignore_errors=True)


def _figures(measured: Measured, rows: Sequence[Row]) -> str:
    units = {row.name: row.unit for row in rows}
    return ", ".join(f"{number(value)} {units[name]}" for name, value in measured.values.items())


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)

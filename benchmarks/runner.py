"""Runs the scenarios: brokers take turns, each warmed before its values count."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.contestants import CONTESTANTS, Contestant
from benchmarks.results import Measured, Results, Row
from benchmarks.scenarios import all_rows
from benchmarks.scenarios.footprint import AFTER_THE_RUN
from benchmarks.scenarios.scenario import Scale, Scenario
from benchmarks.tables import number


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run, how often, and where the brokers may keep their data."""

    names: tuple[str, ...]
    scenarios: tuple[Scenario, ...]
    runs: int
    scale: Scale
    data_dir: Path


class Runner:
    """Carries out a plan and collects the results."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.results = Results(all_rows())
        self.failures: list[str] = []

    def run(self) -> Results:
        """Starts the brokers, runs every scenario, and reads their memory at the end."""
        shared = [scenario for scenario in self.plan.scenarios if not scenario.fresh_broker]
        if shared:
            with self._brokers() as brokers:
                for scenario in shared:
                    self._run_shared(scenario, brokers)
                self._memory_after(brokers)
        for scenario in self.plan.scenarios:
            if scenario.fresh_broker:
                self._run_fresh(scenario)
        return self.results

    @contextmanager
    def _brokers(self) -> Iterator[list[Contestant]]:
        brokers: list[Contestant] = []
        try:
            for name in self.plan.names:
                _say(f"starting {name}")
                brokers.append(CONTESTANTS[name](self.plan.data_dir / name))
                brokers[-1].start()
            yield brokers
        finally:
            for broker in brokers:
                broker.stop()
                shutil.rmtree(broker.data_dir, ignore_errors=True)

    def _run_shared(self, scenario: Scenario, brokers: Sequence[Contestant]) -> None:
        """Warms each broker with a run that does not count, then lets them take turns."""
        prepared: list[Contestant] = []
        try:
            for broker in brokers:
                prepared.append(broker)
                scenario.prepare(broker, self.plan.scale)
                if not self.plan.scale.quick:
                    _say(f"{scenario.name}: warming {broker.name}")
                    scenario.measure(broker, self.plan.scale)
            for run in range(self._runs(scenario)):
                for broker in brokers if run % 2 == 0 else reversed(brokers):
                    self._measure(scenario, broker, run)
        except Exception as error:
            self._failed(scenario, error)
        finally:
            for broker in prepared:
                with suppress(Exception):  # what made it fail has been reported
                    scenario.clean_up(broker)

    def _run_fresh(self, scenario: Scenario) -> None:
        """Gives each run a broker without a past."""
        try:
            for run in range(self._runs(scenario)):
                for name in self.plan.names:
                    broker = CONTESTANTS[name](self.plan.data_dir / f"{name}-fresh")
                    try:
                        broker.start()
                        self._measure(scenario, broker, run)
                    finally:
                        broker.stop()
                        shutil.rmtree(broker.data_dir, ignore_errors=True)
        except Exception as error:
            self._failed(scenario, error)

    def _runs(self, scenario: Scenario) -> int:
        return min(self.plan.runs, scenario.max_runs)

    def _measure(self, scenario: Scenario, broker: Contestant, run: int) -> None:
        os.sync()  # nobody pays for writing back what the other left behind
        measured = scenario.measure(broker, self.plan.scale)
        self.results.add(broker.name, measured)
        figures = _figures(measured, scenario.rows)
        _say(f"{scenario.name}: run {run + 1}/{self._runs(scenario)} {broker.name} {figures}")

    def _memory_after(self, brokers: Sequence[Contestant]) -> None:
        for broker in brokers:
            self.results.add(broker.name, Measured({AFTER_THE_RUN.name: broker.memory_mb()}))

    def _failed(self, scenario: Scenario, error: Exception) -> None:
        """One scenario that fails must not cost the results of the others."""
        self.failures.append(f"{scenario.name}: {type(error).__name__}: {error}")
        _say(self.failures[-1])


def _figures(measured: Measured, rows: Sequence[Row]) -> str:
    units = {row.name: row.unit for row in rows}
    return ", ".join(f"{number(value)} {units[name]}" for name, value in measured.values.items())


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)

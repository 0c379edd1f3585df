"""`python -m tests.faults [NAME...] [--runs N] [--operations N]`: faults on a real cluster, and a report on them."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from tests.faults.catalogue import BY_NAME, FAULTS
from tests.faults.fault import Fault
from tests.faults.run import Run, perform


@dataclass(slots=True)
class Tally:
    """What became of the runs of one fault."""

    runs: list[Run] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    skipped: str = ""

    @property
    def is_good(self) -> bool:
        """Whether every run ended, and kept every promise."""
        return not self.failures and all(run.report.valid for run in self.runs)

    def as_json(self) -> dict[str, Any]:
        """For a program."""
        return {
            "runs": [
                {
                    "seed": run.seed,
                    "strikes": run.strikes,
                    "seconds": round(run.seconds, 1),
                    "longest_wait_ms": round(run.longest_wait_ms),
                    **run.report.as_json(),
                }
                for run in self.runs
            ],
            "failures": self.failures,
            "skipped": self.skipped,
        }


class Progress:
    """One line that says what goes on, on a terminal; else a line for each run."""

    def __init__(self, total: int) -> None:
        self.total, self.done = total, 0
        self.began = time.monotonic()
        self._live = sys.stdout.isatty()

    def tell(self, name: str, what: str) -> None:
        """Something has begun."""
        if self._live:
            minutes = (time.monotonic() - self.began) / 60
            line = f"[{self.done + 1}/{self.total}, {minutes:.0f} min] {name}: {what}"
            print(f"\r\033[K{line}", end="", flush=True)

    def ended(self, line: str) -> None:
        """A run has ended."""
        self.done += 1
        print(f"\r\033[K{line}" if self._live else line, flush=True)


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """What the command is told."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="these faults only")
    parser.add_argument("--runs", type=int, default=1, help="how often each fault runs")
    parser.add_argument("--operations", type=int, default=3000, help="at least, in each run")
    parser.add_argument("--seed", type=int, default=0, help="of the first run")
    parser.add_argument("--directory", type=Path, help="where histories and the report are kept")
    parser.add_argument("--list", action="store_true", help="name the faults and stop")
    found = parser.parse_args(given)
    unknown = sorted(set(found.names) - set(BY_NAME))
    if unknown:
        parser.error(f"no fault is called {', '.join(unknown)}; --list names them all")
    return found


def run_once(fault: Fault, tally: Tally, directory: Path, told: argparse.Namespace, seed: int,
             progress: Progress) -> None:  # fmt: skip
    """One run; its files are kept if it is not as it should be."""
    here = directory / f"{fault.name}-{seed}"
    try:
        run = perform(
            [fault], here, told.operations, seed, lambda what: progress.tell(fault.name, what)
        )
    except pytest.skip.Exception as skipped:
        tally.skipped = str(skipped)
        progress.ended(f"{fault.name:<34} skipped: {skipped}")
        return
    except Exception as failure:
        tally.failures.append(f"seed {seed}: {failure}")
        progress.ended(f"{fault.name:<34} FAILED, see {here}\n{traceback.format_exc()}")
        return
    tally.runs.append(run)
    if run.report.valid:
        shutil.rmtree(here, ignore_errors=True)
        verdict = "every promise was kept"
    else:
        verdict = f"BROKEN, see {here}\n{run.report}"
    progress.ended(
        f"{fault.name:<34} {run.strikes:>3} strikes {run.operations:>7} operations "
        f"{run.seconds:>5.0f} s, longest wait {run.longest_wait_ms / 1000:.1f} s: {verdict}"
    )


def silence_clients(log: Path) -> None:
    """What client libraries say when brokers die goes to a file, not between the lines of the report."""
    with log.open("ab") as file:
        os.dup2(file.fileno(), sys.stderr.fileno())


def summary(tallies: dict[str, Tally], seconds: float) -> str:
    """What ran, how often and for how long."""
    lines = [f"{'fault':<34} runs strikes operations  seconds  longest wait  verdict"]
    for name, tally in tallies.items():
        runs = tally.runs
        verdict = "kept" if tally.is_good else "BROKEN"
        longest = max((run.longest_wait_ms for run in runs), default=0) / 1000
        lines.append(
            f"{name:<34} {len(runs):>4} {sum(run.strikes for run in runs):>7} "
            f"{sum(run.operations for run in runs):>10} {sum(run.seconds for run in runs):>8.0f} "
            f"{longest:>11.1f} s  {tally.skipped or verdict}"
        )
    ran = [run for tally in tallies.values() for run in tally.runs]
    broken = [name for name, tally in tallies.items() if not tally.is_good]
    said = f"broken: {', '.join(broken)}" if broken else "every promise was kept"
    total = sum(run.operations for run in ran)
    lines.append(f"{len(ran)} runs, {total} operations, {seconds / 60:.0f} minutes; {said}")
    return "\n".join(lines)


def main() -> int:
    """Run what was asked for."""
    told = arguments()
    if told.list:
        print("\n".join(BY_NAME))
        return 0
    chosen = [BY_NAME[name] for name in told.names] or list(FAULTS)
    directory = told.directory or Path(mkdtemp(prefix="ottla-faults-"))
    directory.mkdir(parents=True, exist_ok=True)
    silence_clients(directory / "clients.log")
    tallies = {fault.name: Tally() for fault in chosen}
    progress = Progress(len(chosen) * told.runs)
    for seed in range(told.seed, told.seed + told.runs):
        for fault in chosen:
            tally = tallies[fault.name]
            if not tally.skipped:
                run_once(fault, tally, directory, told, seed, progress)
    print(summary(tallies, time.monotonic() - progress.began))
    report = directory / "report.json"
    report.write_text(json.dumps({n: t.as_json() for n, t in tallies.items()}, indent=2))
    print(f"report: {report}")
    return 0 if all(tally.is_good for tally in tallies.values()) else 1


if __name__ == "__main__":
    sys.exit(main())

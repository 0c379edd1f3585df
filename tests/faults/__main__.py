"""`python -m tests.faults [NAME...] [--runs N] [--operations N]`: faults on a real cluster, and a report on them."""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import mkdtemp
from threading import Timer

from tests.faults.catalogue import BY_NAME
from tests.faults.one import Result

STUCK_S = 1200.0
LAST_WORDS = 12

Tallies = dict[str, list[Result]]


class Progress:
    """One line that says what goes on, on a terminal; else a line for each run."""

    def __init__(self, total: int) -> None:
        self.total, self.done = total, 0
        self.began = time.monotonic()
        self._live = sys.stdout.isatty()

    @property
    def minutes(self) -> float:
        """Since the first run began."""
        return (time.monotonic() - self.began) / 60

    def tell(self, name: str, what: str) -> None:
        """Something has begun."""
        if self._live:
            left = self.minutes / self.done * (self.total - self.done) if self.done else 0.0
            line = f"[{self.done + 1}/{self.total}, {self.minutes:.0f} min, {left:.0f} to go]"
            print(f"\r\033[K{line} {name}: {what}", end="", flush=True)

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


def run_once(name: str, seed: int, operations: int, directory: Path, progress: Progress) -> Result:
    """One run in a process of its own; its files are kept if it is not as it should be."""
    command = [sys.executable, "-m", "tests.faults.one", name, str(directory)]
    process = subprocess.Popen(
        [*command, str(operations), str(seed)], stdout=subprocess.PIPE, text=True
    )
    # Interrupted, it takes down what it has set up.
    stuck = Timer(STUCK_S, process.send_signal, [signal.SIGINT])
    stuck.start()
    try:
        assert process.stdout is not None
        for line in process.stdout:
            progress.tell(name, line.strip())
        process.wait()
    except BaseException:
        process.send_signal(signal.SIGINT)
        process.wait()
        raise
    finally:
        stuck.cancel()
    result = Result.load(directory, seed)
    if result.valid or result.skipped:
        shutil.rmtree(directory, ignore_errors=True)
    return result


def line_of(name: str, result: Result, directory: Path) -> str:
    """What a person is told of a run."""
    if result.skipped:
        return f"{name:<34} skipped: {result.skipped}"
    if result.failure:
        words = "\n".join(result.failure.splitlines()[-LAST_WORDS:])
        return f"{name:<34} FAILED, see {directory}\n{words}"
    verdict = "every promise was kept" if result.valid else f"BROKEN, see {directory}"
    line = (
        f"{name:<34} {result.strikes:>3} strikes {result.operations:>7} operations "
        f"{result.seconds:>5.0f} s, longest wait {result.longest_wait_ms / 1000:.1f} s: {verdict}"
    )
    return line if result.valid else f"{line}\n{result.report}"


def is_good(results: Sequence[Result]) -> bool:
    """Whether every run ended, and kept every promise."""
    return all(result.valid or result.skipped for result in results)


def summary(tallies: Tallies, minutes: float) -> str:
    """What ran, how often and for how long."""
    lines = [f"{'fault':<34} runs strikes operations  seconds  longest wait  verdict"]
    for name, results in tallies.items():
        ran = [each for each in results if not each.skipped]
        verdict = "kept" if is_good(results) else "BROKEN"
        longest = max((each.longest_wait_ms for each in ran), default=0) / 1000
        lines.append(
            f"{name:<34} {len(ran):>4} {sum(each.strikes for each in ran):>7} "
            f"{sum(each.operations for each in ran):>10} {sum(each.seconds for each in ran):>8.0f} "
            f"{longest:>11.1f} s  {verdict if ran else results[0].skipped}"
        )
    everything = [each for results in tallies.values() for each in results if not each.skipped]
    broken = [name for name, results in tallies.items() if not is_good(results)]
    said = f"broken: {', '.join(broken)}" if broken else "every promise was kept"
    total = sum(each.operations for each in everything)
    lines.append(f"{len(everything)} runs, {total} operations, {minutes:.0f} minutes; {said}")
    return "\n".join(lines)


def main() -> int:
    """Run what was asked for."""
    told = arguments()
    if told.list:
        print("\n".join(BY_NAME))
        return 0
    directory: Path = told.directory or Path(mkdtemp(prefix="ottla-faults-"))
    directory.mkdir(parents=True, exist_ok=True)
    tallies: Tallies = {name: [] for name in told.names or BY_NAME}
    progress = Progress(len(tallies) * told.runs)
    for seed in range(told.seed, told.seed + told.runs):
        for name, results in tallies.items():
            here = directory / f"{name}-{seed}"
            results.append(run_once(name, seed, told.operations, here, progress))
            progress.ended(line_of(name, results[-1], here))
    print(summary(tallies, progress.minutes))
    report = directory / "report.json"
    report.write_text(json.dumps({n: [asdict(r) for r in t] for n, t in tallies.items()}, indent=2))
    print(f"report: {report}")
    return 0 if all(map(is_good, tallies.values())) else 1


if __name__ == "__main__":
    sys.exit(main())

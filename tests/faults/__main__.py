"""`python -m tests.faults [NAME...] [--runs N] [--operations N]`: faults on a real cluster, and a report on them."""

from __future__ import annotations

import argparse
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from tempfile import mkdtemp
from threading import Lock, Timer

from tests.faults.catalogue import BY_NAME
from tests.faults.one import Result
from tests.faults.tally import broken, load, save, still_to_run, table, total

STUCK_S = 1200.0
LAST_WORDS = 20


class Progress:
    """One line that says what goes on, on a terminal; else a line for each run."""

    def __init__(self, total: int) -> None:
        self.total, self.done = total, 0
        self.began = time.monotonic()
        self._live = sys.stdout.isatty()
        self._lock = Lock()

    @property
    def minutes(self) -> float:
        """Since the first run began."""
        return (time.monotonic() - self.began) / 60

    def tell(self, name: str, what: str) -> None:
        """Something has begun."""
        if self._live:
            left = self.minutes / self.done * (self.total - self.done) if self.done else 0.0
            line = f"[{self.done + 1}/{self.total}, {self.minutes:.0f} min, {left:.0f} to go]"
            with self._lock:
                print(f"\r\033[K{line} {name}: {what}", end="", flush=True)

    def ended(self, line: str) -> None:
        """A run has ended."""
        with self._lock:
            self.done += 1
            print(f"\r\033[K{line}" if self._live else line, flush=True)


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """What the command is told."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="these faults only")
    parser.add_argument("--runs", type=int, default=1, help="how often each fault runs")
    parser.add_argument("--operations", type=int, default=3000, help="at least, in each run")
    parser.add_argument("--seed", type=int, default=0, help="of the first run")
    parser.add_argument("--parallel", type=int, default=1, help="so many clusters at once")
    parser.add_argument("--directory", type=Path, help="where the files of broken runs are kept")
    parser.add_argument(
        "--add-to",
        type=Path,
        metavar="REPORT",
        help="a report that counts: what it has is not run again, what runs is added at once",
    )
    parser.add_argument("--list", action="store_true", help="name the faults and stop")
    found = parser.parse_args(given)
    unknown = sorted(set(found.names) - set(BY_NAME))
    if unknown:
        parser.error(f"no fault is called {', '.join(unknown)}; --list names them all")
    return found


class Runner:
    """Runs one fault after another, or several at once, each in a process of its own."""

    def __init__(self, operations: int, directory: Path, progress: Progress) -> None:
        self.operations, self.directory, self.progress = operations, directory, progress
        self._processes: set[subprocess.Popen[str]] = set()

    def run(self, name: str, seed: int) -> Result:
        """One run; its files are kept if it is not as it should be."""
        directory = self.directory / f"{name}-{seed}"
        command = [sys.executable, "-m", "tests.faults.one", name, str(directory)]
        process = subprocess.Popen(
            [*command, str(self.operations), str(seed)],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._processes.add(process)
        stuck = Timer(STUCK_S, process.terminate)
        stuck.start()
        assert process.stdout is not None
        for line in process.stdout:
            self.progress.tell(name, line.strip())
        process.wait()
        stuck.cancel()
        self._processes.remove(process)
        result = Result.load(directory, seed)
        self.progress.ended(line_of(name, result, directory))
        if result.valid or result.skipped:
            shutil.rmtree(directory, ignore_errors=True)
        return result

    def interrupt(self) -> None:
        """Those that run take down what they have set up."""
        for process in list(self._processes):
            process.terminate()


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
        f"{result.seconds:>5.0f} s, longest gap {result.longest_gap_ms / 1000:.1f} s: {verdict}"
    )
    return line if result.valid else f"{line}\n{result.report}"


def main() -> int:
    """Run what was asked for."""
    told = arguments()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if told.list:
        print("\n".join(BY_NAME))
        return 0
    directory: Path = told.directory or Path(mkdtemp(prefix="ottla-faults-"))
    directory.mkdir(parents=True, exist_ok=True)
    report: Path = told.add_to or directory / "report.json"
    tally = load(told.add_to, BY_NAME)
    asked = {name: tally[name] for name in told.names or BY_NAME}
    todo = list(still_to_run(asked, told.runs, told.operations, told.seed))
    runner = Runner(told.operations, directory, Progress(len(todo)))
    with ThreadPoolExecutor(told.parallel) as pool:
        running = {pool.submit(runner.run, name, seed): name for name, seed in todo}
        try:
            for each in as_completed(running):
                tally[running[each]].append(each.result())
                save(report, tally)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            runner.interrupt()
            raise
    print(f"{table(asked)}\n\n{total(asked)}\nreport: {report}")
    return 1 if broken(asked) else 0


if __name__ == "__main__":
    sys.exit(main())

"""`python -m tests.faults.one NAME DIRECTORY OPERATIONS SEED`: one run in a process of its own.

Clients that hang would go on for as long as their process does, and meet the next cluster. What goes on is told on
stdout, line by line; what came of it stands in `result.json`; what client libraries say is in `clients.log`.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import traceback
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tests.faults.catalogue import BY_NAME
from tests.faults.run import perform

RESULT = "result.json"


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one run."""

    seed: int
    date: str = ""
    valid: bool = False
    skipped: str = ""
    failure: str = ""
    strikes: int = 0
    operations: int = 0
    seconds: float = 0.0
    longest_gap_ms: float = 0.0
    anomalies: int = 0
    report: str = ""

    def save(self, directory: Path) -> None:
        """For the process that asked."""
        (directory / RESULT).write_text(json.dumps(asdict(self)))

    @classmethod
    def load(cls, directory: Path, seed: int) -> Result:
        """What the process has left behind."""
        if not (directory / RESULT).exists():
            return cls(seed, failure="the process has ended before its time")
        found: dict[str, Any] = json.loads((directory / RESULT).read_text())
        return cls(**found)


def run(name: str, directory: Path, operations: int, seed: int) -> Result:
    """Perform, whatever comes of it."""
    today = date.today().isoformat()
    try:
        done = perform(
            [BY_NAME[name]], directory, operations, seed, lambda what: print(what, flush=True)
        )
    except pytest.skip.Exception as skipped:
        return Result(seed, today, skipped=str(skipped))
    except Exception:
        return Result(seed, today, failure=traceback.format_exc())
    return Result(
        seed,
        today,
        done.report.valid,
        strikes=done.strikes,
        operations=done.operations,
        seconds=round(done.seconds, 1),
        longest_gap_ms=round(done.longest_gap_ms, 1),
        anomalies=sum(each.fails for each in done.report.anomalies),
        report=str(done.report),
    )


def main() -> None:
    """As the command line says."""
    name, directory, operations, seed = sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:])
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "clients.log").open("ab") as log:
        os.dup2(log.fileno(), sys.stderr.fileno())
    # Told to stop, it takes down what it has set up.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # A history only grows, so that a collector would look through it again and again for nothing.
    gc.disable()
    run(name, directory, operations, seed).save(directory)
    # Not after threads that hang.
    os._exit(0)


if __name__ == "__main__":
    main()

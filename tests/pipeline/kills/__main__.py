"""`python -m tests.pipeline.kills [--runs N] [NAME]...`: each victim at each step, as often as asked; then mutants."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.pipeline.kills.plans import PLANS, catch_mutants
from tests.pipeline.kills.report import RESULTS, Report
from tests.pipeline.kills.scene import Scene

MUTANTS = "mutants"
LOG_CHARS = 4000


def main() -> int:
    """Carry out all plans, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10, help="strikes of each step")
    parser.add_argument("--patience", type=float, default=1.0, help="waits are so much longer")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where strikes are counted")
    parser.add_argument("names", nargs="*", choices=[*PLANS, MUTANTS, []], metavar="NAME")
    arguments = parser.parse_args()
    # Whoever is asked to end ends what it has started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    report = Report(arguments.results)
    ok = True
    for name in arguments.names or (*PLANS, MUTANTS):
        ok &= _carried_out(name, arguments.runs, arguments.patience, report)
    print(report.table())
    return 0 if ok else 1


def _carried_out(name: str, runs: int, patience: float, report: Report) -> bool:
    work = catch_mutants if name == MUTANTS else partial(PLANS[name].carry_out, runs)
    began = time.monotonic()
    with TemporaryDirectory(prefix="ottla-kills-") as directory:
        try:
            scene: Scene = work(directory=Path(directory), patience=patience)
        except AssertionError as error:
            log = Path(directory, "driver.log")
            if log.exists():
                print(log.read_text(errors="replace")[-LOG_CHARS:], file=sys.stderr)
            print(f"{name}: FAILED after {time.monotonic() - began:.0f} s: {error}", flush=True)
            return False
    outcome = "caught" if name == MUTANTS else "each row once"
    took_s = time.monotonic() - began
    report.add(scene.struck, outcome)
    strikes = sum(scene.struck.values())
    print(f"{name}: {strikes} strikes in {took_s:.0f} s, {outcome}", flush=True)
    return True


if __name__ == "__main__":
    sys.exit(main())

"""`python -m tests.simulation FIRST LAST [MUTANT]`: tells stories, prints those that end badly.

Hash seeds move sets about, so the same seed tells the same story only under one PYTHONHASHSEED.
"""

import logging
import os
import sys
import time
from contextlib import nullcontext

from tests.simulation.mutants import MUTANTS
from tests.simulation.story import Told, tell


def main(first: int, last: int, mutant: str | None = None) -> int:
    """The number of stories that ended badly; with a mutant, ends with the first."""
    logging.disable(logging.CRITICAL)
    began, bad = time.monotonic(), 0
    for seed in range(first, last):
        with MUTANTS[mutant]() if mutant else nullcontext():
            told = tell(seed)
        if told.anomalies:
            bad += 1
            print(report(told), flush=True)
            if mutant:
                break
    print(f"{seed - first + 1} stories in {time.monotonic() - began:.0f} s, {bad} ended badly")
    return bad


def report(told: Told) -> str:
    """The story of a seed, for whoever has to find out why it ended badly."""
    lines = [
        f"seed {told.seed}: {told.acked} records acknowledged in {told.seconds:.0f} s",
        *told.story,
    ]
    return "\n".join(lines + [f"  ANOMALY {each}" for each in told.anomalies[:10]])


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.execve(
            sys.executable,
            [sys.executable, "-m", "tests.simulation", *sys.argv[1:]],
            {**os.environ, "PYTHONHASHSEED": "0"},
        )
    arguments = sys.argv[1:]
    ended_badly = main(int(arguments[0]), int(arguments[1]), *arguments[2:3])
    sys.exit(bool(ended_badly) != bool(arguments[2:3]))

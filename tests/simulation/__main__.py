"""`python -m tests.simulation FIRST LAST [--long] [--mutant NAME] [--processes N]`: tells stories, prints the bad ones.

`--cpu-seconds N`: one process goes on behind LAST until it has used so much, and prints its last seed.
Hash seeds move sets about, so the same seed tells the same story only under one PYTHONHASHSEED.
"""

import argparse
import gc
import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import chain

from tests.simulation.mutants import MUTANTS
from tests.simulation.pace import LONG, SHORT, Pace
from tests.simulation.story import Told, tell


def main(first: int, last: int, pace: Pace, mutant: str | None, cpu_seconds: float) -> int:
    """The number of stories that ended badly; with a mutant, ends with the first."""
    logging.disable(logging.CRITICAL)
    gc.freeze()
    began, stories, bad, events = time.monotonic(), 0, 0, 0
    seed = first
    with MUTANTS[mutant]() if mutant else nullcontext():
        for told in chain(tell(first, last, pace), more(last, pace, cpu_seconds)):
            stories += 1
            seed = told.seed
            events += told.events
            if told.anomalies:
                bad += 1
                print(report(told), flush=True)
                if mutant:
                    break
    took = f"{stories} stories of {events // max(stories, 1)} events in {time.monotonic() - began:.0f} s"
    print(f"{took}, {bad} ended badly; the last seed was {seed}")
    return bad


def more(seed: int, pace: Pace, cpu_seconds: float) -> Iterator[Told]:
    """The stories from this seed on, until this process has used so much CPU time."""
    while time.process_time() < cpu_seconds:
        yield from tell(seed, seed + pace.stories, pace)
        seed += pace.stories


def report(told: Told) -> str:
    """The story of a seed, behind those that its world had seen: for whoever has to find out why it ended badly."""
    lines = [
        f"seed {told.seed}: {told.events} events, {told.acked} records acknowledged in {told.seconds:.1f} s",
        *told.story,
    ]
    return "\n".join(lines + [f"  ANOMALY {each}" for each in told.anomalies[:10]])


def in_shares(first: int, last: int, processes: int, *options: str) -> bool:
    """Whether a story ended badly, in any of several processes that tell some each."""
    size = -(-(last - first) // processes)
    shares = [(start, min(start + size, last)) for start in range(first, last, size)]
    command = (sys.executable, "-m", "tests.simulation")
    telling = [subprocess.Popen([*command, *map(str, share), *options]) for share in shares]
    codes = [process.wait() for process in telling]
    return any(codes)


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("first", type=int, help="the first seed")
    parser.add_argument("last", type=int, help="the seed behind the last")
    parser.add_argument("--long", action="store_true", help="long stories instead of short ones")
    parser.add_argument("--mutant", choices=MUTANTS, help="brokers with one rule missing")
    parser.add_argument("--processes", type=int, default=1, help="how many share the seeds")
    parser.add_argument(
        "--cpu-seconds", type=float, default=0, help="go on behind the last until so much is used"
    )
    return parser.parse_args()


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.execve(
            sys.executable,
            [sys.executable, "-m", "tests.simulation", *sys.argv[1:]],
            {**os.environ, "PYTHONHASHSEED": "0"},
        )
    asked = arguments()
    if asked.processes > 1:
        long = ["--long"] if asked.long else []
        sys.exit(in_shares(asked.first, asked.last, asked.processes, *long))
    pace = LONG if asked.long else SHORT
    ended_badly = main(asked.first, asked.last, pace, asked.mutant, asked.cpu_seconds)
    sys.exit(bool(ended_badly) != bool(asked.mutant))

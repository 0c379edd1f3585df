"""`python -m tests.client_model [--seconds N] [--mutant NAME]`: stories until one ends badly, or the time is over.

Hypothesis draws the plans; `--shrink` has it look for the smallest that ends badly.
"""

import argparse
import os
import sys
import time
from contextlib import nullcontext

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.client_model.mutants import FOUND_BY, MUTANTS
from tests.client_model.plan import Plan, plans
from tests.client_model.story import BrokenPromise, tell

BATCH = 20


class _Enough(Exception):
    """The time is over."""


def main(asked: argparse.Namespace) -> int:
    """1 if a story ended badly; its plan is printed."""
    until, told = time.monotonic() + asked.seconds, 0
    with MUTANTS[asked.mutant]() if asked.mutant else nullcontext():
        try:
            if asked.known:
                _tell(FOUND_BY[asked.mutant])
            while told < asked.stories and not asked.known:
                count = min(BATCH, asked.stories - told)
                _batch(asked.first + told, count, until, asked.shrink)
                told += count
        except BrokenPromise as broken:
            print(broken)
            return 1
        except _Enough:
            pass
    print(f"{told} stories: all promises were kept")
    return 0


def _batch(first: int, count: int, until: float, shrink: bool) -> None:
    phases = (Phase.generate, Phase.shrink) if shrink else (Phase.generate,)

    @seed(first)
    @settings(
        max_examples=count,
        phases=phases,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(plans())
    def each(plan: Plan) -> None:
        if time.monotonic() > until:
            raise _Enough
        _tell(plan)

    each()


def _tell(plan: Plan) -> None:
    try:
        tell(plan)
    except BrokenPromise as broken:
        raise BrokenPromise(f"{broken}\n{plan}") from None


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.client_model")
    parser.add_argument("--seconds", type=float, default=600, help="tell stories for so long")
    parser.add_argument("--stories", type=int, default=1_000_000, help="tell at most so many")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first stories")
    parser.add_argument("--mutant", choices=MUTANTS, help="clients with one promise broken")
    parser.add_argument("--known", action="store_true", help="the story that finds the mutant")
    parser.add_argument("--shrink", action="store_true", help="look for the smallest bad story")
    return parser.parse_args()


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":
        command = [sys.executable, "-m", "tests.client_model", *sys.argv[1:]]
        os.execve(sys.executable, command, {**os.environ, "PYTHONHASHSEED": "0"})
    sys.exit(main(arguments()))

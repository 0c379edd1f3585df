"""Compares seeds for longer than the tests do: `python -m tests.streams 0 1000`."""

from __future__ import annotations

import sys

from tests.streams.cases import case
from tests.streams.comparison import differences, theirs

AT_ONCE = 200


def main(first: int, last: int) -> int:
    """Compare the cases of these seeds; return how many differ."""
    differing = 0
    for start in range(first, last, AT_ONCE):
        seeds = range(start, min(last, start + AT_ONCE))
        cases = [case(seed) for seed in seeds]
        for seed, each, kafka in zip(seeds, cases, theirs(cases), strict=True):
            try:
                found = differences(each, kafka)
            except Exception as error:
                found = [f"ottla raises {error!r}"]
            if found:
                differing += 1
                print(f"seed {seed}: {each.steps}\n{each.records}\n" + "\n".join(found))
    print(f"{last - first} seeds, {differing} differ")
    return differing


if __name__ == "__main__":
    sys.exit(1 if main(int(sys.argv[1]), int(sys.argv[2])) else 0)

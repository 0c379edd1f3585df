"""`make conformance-go`: the tests that franz-go's client has for itself, against a broker made for them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tests.support.broker import OttlaBroker
from tools.building import BuildFailed
from tools.franz_go import CACHE, VERSION, built_tests

SETTINGS = {"group.initial.rebalance.delay.ms": "0"}
RECORDS = 20_000
LIMIT_S = 600
LOG = CACHE.with_name(f"{CACHE.name}.log")
ENDED = re.compile(r"--- (PASS|FAIL|SKIP): (\S+) \((.*)s\)")
# Tests of what needs no broker end at once, and there are hundreds.
WORTH_A_LINE_S = 0.5


def follow(lines: Iterable[str]) -> Counter[str]:
    """How many tests ended how; prints those that fail or take their time."""
    counts: Counter[str] = Counter()
    for line in lines:
        found = ENDED.search(line)
        if found:
            state, name, seconds = found.groups()
            counts[state] += 1
            if state == "FAIL" or float(seconds) >= WORTH_A_LINE_S:
                print(f"  {state.lower()} {name} ({seconds} s)", flush=True)
    return counts


def main() -> int:
    """Runs the tests and returns 0 if none failed."""
    print(f"franz-go {VERSION}: getting and building its tests, unless that is done ...")
    try:
        program, directory = built_tests()
    except BuildFailed as reason:
        print(reason, file=sys.stderr)
        return 2
    print(f"what they print goes to {LOG}")
    with (
        tempfile.TemporaryDirectory(prefix="franz-go-") as data,
        OttlaBroker(Path(data) / "data", SETTINGS) as broker,
        LOG.open("w") as log,
    ):
        status = _run(program, directory, f"127.0.0.1:{broker.port}", log.fileno())
    with LOG.open(errors="replace") as lines:
        counts = follow(lines)
    print(f"{counts['PASS']} passed, {counts['FAIL']} failed, {counts['SKIP']} skipped")
    return 1 if status or counts["FAIL"] or not counts["PASS"] else 0


def _run(program: Path, directory: Path, bootstrap: str, log: int) -> int:
    told = {"KGO_SEEDS": bootstrap, "KGO_TEST_RF": "1", "KGO_TEST_RECORDS": str(RECORDS)}
    command = [program, "-test.v", f"-test.timeout={LIMIT_S}s"]
    return subprocess.run(
        command,
        cwd=directory,
        env=os.environ | told,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        check=False,
    ).returncode


if __name__ == "__main__":
    sys.exit(main())

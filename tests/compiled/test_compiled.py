"""The package as a wheel for this platform has it, by the same tests: what is compiled does what its source says."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.requirements import requires
from tools import compiled

pytestmark = [pytest.mark.slow, pytest.mark.cpu, pytest.mark.timeout(1800)]

REPOSITORY = Path(__file__).parents[2]
MACHINES = ("tests/unit/coordination", "tests/unit/replication", "tests/unit/broker")
CLIENTS = (
    "tests/compat/test_consumer_protocol.py",
    "tests/compat/test_groups_sharing.py",
    "tests/compat/test_produce_and_consume.py",
    "tests/compat/test_transactions.py",
)


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    requires("gcc")
    if not compiled.HEADERS.exists():
        pytest.skip("this Python has no headers; Debian's has them in python3-dev")
    return {**os.environ, "PYTHONPATH": str(compiled.built("quick"))}


def test_it_says_what_it_is(environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "ottla", "--version"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.endswith(" (compiled)\n")


@pytest.mark.parametrize("tests", [MACHINES, CLIENTS], ids=["machines", "clients"])
def test_it_passes_the_same_tests(environment: dict[str, str], tests: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", "-m", "not interpreted", *tests]
    command += ["-p", "no:cacheprovider"]
    done = subprocess.run(
        command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-5000:]
    assert " passed" in done.stdout

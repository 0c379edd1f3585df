"""Three brokers in one process, faults by a seed: nothing acknowledged is lost, doubled or taken back.

A failing seed prints its story; `python -m tests.simulation SEED SEED+1` tells it again.
"""

import os
import subprocess
import sys

import pytest

SHORT = int(os.environ.get("OTTLA_SIMULATION_SEEDS", "2000"))
LONG = SHORT // 100
MUTANTS = {
    "ack_before_replication": 200,
    "no_epoch_check": 200,
    "returns_are_not_noticed": 200,
    "truncate_to_the_high_watermark": 100,
    "isr_without_compare_and_set": 200,
    "forgotten_producer_state": 100,
    "commit_visible_before_the_watermark": 500,
}
"""How many short stories may go by before each is found; most need a tenth of that."""


def simulate(*arguments: object) -> tuple[int, str]:
    command = [sys.executable, "-m", "tests.simulation", *map(str, arguments)]
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        timeout=280,
    )
    return done.returncode, done.stdout + done.stderr[-4000:]


def test_nothing_acknowledged_is_lost_whatever_fails() -> None:
    code, told = simulate(0, SHORT, "--processes", 2)
    assert code == 0, told


def test_nothing_acknowledged_is_lost_in_long_stories() -> None:
    code, told = simulate(0, LONG, "--long", "--processes", 2)
    assert code == 0, told


@pytest.mark.interpreted
@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_broker_that_breaks_a_rule_is_found_out(mutant: str) -> None:
    code, told = simulate(0, MUTANTS[mutant], "--mutant", mutant)
    assert code == 0, f"{mutant} was not found\n{told}"

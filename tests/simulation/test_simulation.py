"""Three brokers in one process, faults by a seed: nothing acknowledged is lost, doubled or taken back.

A failing seed prints its story; `python -m tests.simulation SEED SEED+1` tells it again.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

SEEDS = int(os.environ.get("OTTLA_SIMULATION_SEEDS", "60"))
SHARES = 2
MUTANTS = {
    "ack_before_replication": 60,
    "no_epoch_check": 40,
    "truncate_to_the_high_watermark": 40,
    "isr_without_compare_and_set": 120,
    "forgotten_producer_state": 60,
    "commit_visible_before_the_watermark": 20,
}
"""How many stories may go by before each is found; most need a tenth of that."""


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
    share = SEEDS // SHARES
    with ThreadPoolExecutor(SHARES) as both:
        ended = list(both.map(lambda n: simulate(n * share, (n + 1) * share), range(SHARES)))
    assert all(code == 0 for code, _ in ended), "\n".join(told for _, told in ended)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_broker_that_breaks_a_rule_is_found_out(mutant: str) -> None:
    code, told = simulate(0, MUTANTS[mutant], mutant)
    assert code == 0, f"{mutant} was not found\n{told}"

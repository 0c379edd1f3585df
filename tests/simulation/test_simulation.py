"""Three brokers in one process, faults by a seed: nothing acknowledged is lost, doubled or taken back.

A failing seed prints its story; `python -m tests.simulation SEED SEED+1` tells it again. The same seeds are
always told, however slow the machine; a fast one tells some more, and prints the last.
"""

import os
import sys
from collections.abc import Callable

import pytest

from tests.support.cpu_limit import run_within

pytestmark = [pytest.mark.cpu, pytest.mark.timeout(1800)]

SHORT = 600
LONG = 10
SPARE_CPU_S = {"short": 18, "long": 3}
"""A process that has told its seeds goes on until it has used so much CPU; 2026-11-18: 14 s and 2 s were used."""
CPU_LIMIT_S = 240
"""Ten times what the slowest of these tests needs on the machine of 2026-11-18."""
MUTANTS = {
    "ack_before_replication": 200,
    "no_epoch_check": 200,
    "returns_are_not_noticed": 200,
    "truncate_to_the_high_watermark": 100,
    "isr_without_compare_and_set": 200,
    "forgotten_producer_state": 100,
    "commit_visible_before_the_watermark": 500,
    "the_watermark_moves_below_min_isr": 200,
}
"""How many short stories may go by before each is found; most need a tenth of that."""


def simulate(*arguments: object) -> str:
    """Run `python -m tests.simulation`; return what it printed."""
    command = [sys.executable, "-m", "tests.simulation", *map(str, arguments)]
    code, printed = run_within(CPU_LIMIT_S, command, {**os.environ, "PYTHONHASHSEED": "0"})
    assert code == 0, printed[-20_000:]
    return printed


def test_nothing_acknowledged_is_lost_whatever_fails(said: Callable[[str], None]) -> None:
    said(simulate(0, SHORT, "--cpu-seconds", SPARE_CPU_S["short"]))


def test_nothing_acknowledged_is_lost_in_long_stories(said: Callable[[str], None]) -> None:
    said(simulate(0, LONG, "--long", "--cpu-seconds", SPARE_CPU_S["long"]))


@pytest.mark.interpreted
@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_broker_that_breaks_a_rule_is_found_out(mutant: str) -> None:
    simulate(0, MUTANTS[mutant], "--mutant", mutant)

"""A hundred brokers come to know the same of each other and of their topics, whoever was away meanwhile."""

import sys

import pytest

from tests.support.cpu_limit import run_within

CPU_LIMIT_S = 120
"""3.5 s of CPU were used on 2026-11-18."""


@pytest.mark.cpu
@pytest.mark.timeout(1800)
def test_a_hundred_brokers_agree_in_the_end() -> None:
    command = [sys.executable, "-m", "tests.simulation.crowd", "0", "100"]
    code, printed = run_within(CPU_LIMIT_S, command)
    assert code == 0, printed[-4000:]

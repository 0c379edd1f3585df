"""Whatever goes wrong, the clients keep their promises; clients that break one are found out.

`make client-model` tells stories for ten minutes, and `python -m tests.client_model --first N` tells one again.
"""

import os
import sys

import pytest

from tests.client_model.mutants import FOUND_BY
from tests.support.cpu_limit import run_within

pytestmark = [pytest.mark.cpu, pytest.mark.timeout(600)]

STORIES = 20
"""2026-11-18: 0.45 CPU-seconds each."""
CPU_LIMIT_S = 200


def stories(*arguments: object, code: int = 0) -> str:
    """Run `python -m tests.client_model`; return what it printed."""
    command = [sys.executable, "-m", "tests.client_model", *map(str, arguments)]
    ended, printed = run_within(CPU_LIMIT_S, command, {**os.environ, "PYTHONHASHSEED": "0"})
    assert ended == code, printed[-20_000:]
    return printed


def test_the_clients_keep_their_promises_whatever_goes_wrong() -> None:
    stories("--stories", STORIES)


@pytest.mark.interpreted
@pytest.mark.parametrize("mutant", FOUND_BY)
def test_a_client_that_breaks_a_promise_is_found_out(mutant: str) -> None:
    stories("--mutant", mutant, "--known", code=1)

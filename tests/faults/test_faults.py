"""A short part of `make faults`: a leader that is controller dies, another one hangs, and no promise is broken."""

from pathlib import Path

import pytest

from tests.faults.fault import AFTER_SESSION_S
from tests.faults.kills import KillBroker, leader_that_is_controller
from tests.faults.pauses import PauseBroker
from tests.faults.run import perform
from tests.faults.site import SESSION_S

pytestmark = [pytest.mark.compat, pytest.mark.java, pytest.mark.slow]

FAULTS = (
    KillBroker("kill", lasts_s=1, choose=leader_that_is_controller),
    PauseBroker("pause", lasts_s=SESSION_S + 2, within_s=AFTER_SESSION_S),
)


@pytest.mark.timeout(240)
def test_every_promise_is_kept(tmp_path: Path) -> None:
    run = perform(FAULTS, tmp_path / "run", operations=0, seed=1)
    assert run.strikes == len(FAULTS)
    assert run.report.valid, f"{run.report}\nthe history is {run.history}"

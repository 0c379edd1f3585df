"""A short part of `make faults`: a leader that is controller dies, another one hangs, and no promise is broken."""

from pathlib import Path

import pytest

from tests.faults.catalogue import BY_NAME
from tests.faults.run import perform

pytestmark = [pytest.mark.compat, pytest.mark.java, pytest.mark.slow]

STRUCK_BY = ("kill-leading-controller", "pause-leader-beyond-session")


@pytest.mark.timeout(240)
def test_every_promise_is_kept(tmp_path: Path) -> None:
    run = perform([BY_NAME[name] for name in STRUCK_BY], tmp_path / "run", operations=0, seed=1)
    assert run.strikes == len(STRUCK_BY)
    assert run.report.valid, f"{run.report}\nthe history is {run.history}"

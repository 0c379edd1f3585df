"""A broker under every kind of client, killed and cut off from them: the checker finds nothing, and in mutants it does.

`make faults` gives it a minute instead of some seconds.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest

from tests.mutants.run import MUTANTS
from tests.workload.workload import perform, stage

pytestmark = [pytest.mark.compat, pytest.mark.slow]

LONG = os.environ.get("OTTLA_FAULTS") == "1"
SECONDS, KILLS = (60.0, 20) if LONG else (1.5, 2)
MUTANT_SECONDS = 1.0

READERS: Final = ("careful", "careless")
CAUGHT_BY: Final = {
    "no_dedup": (("writer", *READERS), {"duplicate"}),
    "no_epoch_bump_at_start": (("rivals", *READERS), {"unseen"}),
    # Brokers tell each other the version of a transaction (KIP-1228): a marker without a new epoch is refused.
    "no_epoch_bump_at_end": (("late-ends", *READERS), {"unseen"}),
    "no_generation_check": (
        ("writer", "member-0", "member-1", "observer"),
        {"committed-offset-lost"},
    ),
    "no_member_epoch_check": (
        ("writer", "modern-0", "modern-1", "observer"),
        {"committed-offset-lost"},
    ),
    "ignored_aborted_index": (("transactional-0", *READERS), {"aborted-read"}),
    "ignored_open_transactions": (("transactional-0", *READERS), {"aborted-read"}),
}
"""For each mutant, who takes part, and what the checker must say."""


@pytest.mark.faults
@pytest.mark.timeout(900 if LONG else 120)
def test_every_promise_is_kept(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with stage(tmp_path) as found:
        report = perform(found, SECONDS, KILLS)
    if LONG:
        with capfd.disabled():
            print(f"\n{report}\nfaults: {dict(found.recorder.faults())}")
    assert report.valid, f"{report}\nthe history is in {tmp_path}"


@pytest.mark.interpreted
@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_is_caught(mutant: str, tmp_path: Path) -> None:
    names, expected = CAUGHT_BY[mutant]
    with stage(tmp_path, mutant, names) as found:
        report = perform(found, MUTANT_SECONDS)
    assert report.bad >= expected, str(report)


def test_modern_members_lose_nothing_where_epochs_are_checked(tmp_path: Path) -> None:
    names, lost = CAUGHT_BY["no_member_epoch_check"]
    with stage(tmp_path, names=names) as found:
        report = perform(found, MUTANT_SECONDS)
    assert not report.bad & lost, str(report)

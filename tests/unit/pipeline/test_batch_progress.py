"""What a bar shows of the stages that run."""

import sys

import pytest

from ottla.pipeline.batch_progress import Stage, is_wanted, summary
from tests.unit.base.test_progress import Terminal


def test_records_add_up_and_tasks_are_the_share() -> None:
    assert summary([Stage(4, 3, 700), Stage(4, 1, 100)]) == (800, 0.5)
    assert summary([Stage(0, 0, 0)]) == (0, 0.0)


def test_it_is_drawn_where_a_person_looks_unless_somebody_says_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert not is_wanted(None)
    assert is_wanted(True)
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    assert is_wanted(None)
    assert not is_wanted(False)

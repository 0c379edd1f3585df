"""A write can be held at a step by a test, one sink at a time, and only where somebody asks for it."""

import os
import threading
from pathlib import Path

import pytest

from ottla.pipeline.sink_steps import FIRST_SENT, VARIABLE, reached
from tests.pipeline.kills.driver import Steps
from tests.support.waiting import wait_for


@pytest.fixture
def steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Steps:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    return Steps(tmp_path / "sink")


def test_a_step_that_is_armed_waits_until_it_is_let_go(steps: Steps) -> None:
    steps.arm(FIRST_SENT)
    write = threading.Thread(target=reached, args=(FIRST_SENT, "sink"))
    write.start()
    assert wait_for(lambda: steps.reached_by(FIRST_SENT), "the write to wait") == os.getpid()
    assert write.is_alive()
    steps.let_go(FIRST_SENT)
    write.join(10)
    assert not write.is_alive()


def test_the_writes_of_another_sink_go_on(steps: Steps) -> None:
    steps.arm(FIRST_SENT)
    reached(FIRST_SENT, "another")
    assert steps.reached_by(FIRST_SENT) is None


def test_a_step_is_nothing_where_nobody_asks(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    steps.arm(FIRST_SENT)
    monkeypatch.delenv(VARIABLE)
    reached(FIRST_SENT, "sink")
    assert steps.reached_by(FIRST_SENT) is None

"""Signals: the first one stops a broker in order, the second at once."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.broker import OTTLA
from tests.support.waiting import wait_for

SIGNALS = [signal.SIGINT, signal.SIGTERM]

# A broker that takes for ever to stop, as one with a dead disk might.
STUCK = """
import asyncio
from ottla.config.load import load
from ottla.node.run import run_broker

class Stuck:
    def __init__(self, settings):
        pass

    async def start(self):
        pass

    async def stop(self):
        print("stopping", flush=True)
        await asyncio.Event().wait()

run_broker(load(), lambda node: print("ready", flush=True), make_node=Stuck)
"""


def next_line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.parametrize("number", SIGNALS)
def test_a_broker_stops_when_it_is_told_to(tmp_path: Path, number: signal.Signals) -> None:
    command = [str(OTTLA), "broker", "--port", "0", "--data-dir", str(tmp_path / "data")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as it:
        assert " ready on localhost:" in next_line(it)
        it.send_signal(number)
        _, log = it.communicate(timeout=20)
    assert it.returncode == 0
    assert "broker stopped" in log
    assert "Traceback" not in log


@pytest.mark.parametrize("number", SIGNALS)
def test_one_that_does_not_stop_is_ended_by_the_second_signal(number: signal.Signals) -> None:
    command = [sys.executable, "-c", STUCK]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as it:
        assert next_line(it) == "ready"
        it.send_signal(number)
        assert next_line(it) == "stopping"
        assert it.poll() is None
        it.send_signal(number)
        wait_for(lambda: it.poll() is not None, "the end of the process")
        _, log = it.communicate(timeout=10)
    assert it.returncode == -number
    assert "Traceback" not in log

"""A worker of Spark that has done its first work is spared what it need not do, and people what they need not read."""

import subprocess
import sys
import traceback
from types import SimpleNamespace

import pytest

from ottla.pipeline.worker_settling import end_quietly

SPARED = """
import gc
from ottla.pipeline.worker_settling import settles

@settles
def work(numbers):
    global kept
    kept = [[number] for number in numbers]
    return len(kept)

assert gc.get_freeze_count() == 0
assert work(range(1000)) == 1000
first = gc.get_freeze_count()
assert first >= 1000
kept = None
assert work(range(3000)) == 3000
assert gc.get_freeze_count() <= first
"""


def test_what_a_worker_has_after_its_first_work_is_no_affair_of_the_collector() -> None:
    subprocess.run([sys.executable, "-c", SPARED], timeout=60, check=True)


def printed_by(daemon: SimpleNamespace, failure: Exception) -> None:
    try:
        raise failure
    except Exception:
        daemon.traceback.print_exc()


def test_one_that_spark_has_let_go_of_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    spec = SimpleNamespace(name="pyspark.daemon")
    daemon = SimpleNamespace(__spec__=spec, traceback=traceback)
    end_quietly(daemon)
    printed_by(daemon, BrokenPipeError("nobody is there"))
    assert capsys.readouterr().err == ""
    printed_by(daemon, ValueError("something else"))
    assert "ValueError: something else" in capsys.readouterr().err
    assert daemon.traceback.format_exc is traceback.format_exc


def test_what_is_no_daemon_is_left_alone() -> None:
    program = SimpleNamespace(__spec__=None, traceback=traceback)
    end_quietly(program)
    assert program.traceback is traceback

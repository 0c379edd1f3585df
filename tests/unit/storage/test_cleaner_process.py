"""The process in which logs are compacted: it does what it is told, and ends without a word when nobody listens."""

import os
import subprocess
import sys
from pathlib import Path

from ottla.storage.cleaner_job import Cleaned, Job, decode_event, encode_job
from ottla.storage.producer_state import ProducerState

COMMAND = [sys.executable, "-P", "-m", "ottla.storage.cleaner_process", str(os.getpid())]


def job(directory: Path) -> bytes:
    """The compaction of a log that has nothing to compact."""
    snapshot = ProducerState().encode_snapshot()
    return encode_job(Job(str(directory), [], 7, 0, 0, 1024, 1024, 4096, 1024, 1e9, [], snapshot))


def test_a_job_is_done(tmp_path: Path) -> None:
    done = subprocess.run(COMMAND, input=job(tmp_path), capture_output=True, timeout=20)
    assert [decode_event(line) for line in done.stdout.splitlines()][-1] == Cleaned(7)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_broker_that_is_gone_is_told_nothing(tmp_path: Path) -> None:
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(COMMAND, **pipes) as process:
        assert process.stdout is not None
        process.stdout.close()
        _, said = process.communicate(job(tmp_path), timeout=20)
    assert (process.returncode, said) == (1, b"")

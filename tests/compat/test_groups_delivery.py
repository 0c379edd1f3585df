"""At least once, at most once, exactly once: each allows what its name says, and a crash brings it about."""

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.clients import consume, create_topic, produce, unique_name
from tests.support.delivery_workers import BATCH, NEVER

pytestmark = pytest.mark.compat

RECORDS = [b"%d" % number for number in range(4 * BATCH)]
# The second of four batches is the one that the first worker dies in.
FATAL = BATCH
UNCERTAIN = RECORDS[FATAL : FATAL + BATCH]
Work = Callable[..., None]


@pytest.fixture
def work(bootstrap: str, topic: str) -> Work:
    """Runs one worker that dies in the midst of a batch, and another that goes on after it."""
    produce(bootstrap, topic, RECORDS)
    group = unique_name("delivery")

    def worker(mode: str, results: str, crash_at: int) -> int:
        arguments = [mode, bootstrap, group, topic, results, str(crash_at)]
        command = [sys.executable, "-m", "tests.support.delivery_workers", *arguments]
        return subprocess.run(command, timeout=60, check=False).returncode

    def both(mode: str, results: str) -> None:
        assert worker(mode, results, FATAL) == -signal.SIGKILL
        assert worker(mode, results, NEVER) == 0

    return both


def test_at_least_once_does_the_last_batch_again(work: Work, tmp_path: Path) -> None:
    results = tmp_path / "results"
    work("at-least-once", str(results))
    done = results.read_bytes().split()
    assert set(done) == set(RECORDS)
    assert Counter(done) - Counter(RECORDS) == Counter(UNCERTAIN)


def test_at_most_once_leaves_the_last_batch_out(work: Work, tmp_path: Path) -> None:
    results = tmp_path / "results"
    work("at-most-once", str(results))
    done = results.read_bytes().split()
    assert len(done) == len(set(done))
    assert set(RECORDS) - set(done) == set(UNCERTAIN)


def test_exactly_once_counts_every_batch_once(work: Work, bootstrap: str) -> None:
    results = create_topic(bootstrap, "results")
    work("exactly-once", results)
    counted = consume(bootstrap, results, isolation_level="read_committed")
    assert [message.value() for message in counted] == RECORDS
    # The crash left its mark: the batch was written twice, and the first time does not count.
    there = consume(bootstrap, results, isolation_level="read_uncommitted")
    assert Counter(m.value() for m in there) - Counter(RECORDS) == Counter(UNCERTAIN)

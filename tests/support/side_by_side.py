"""Tests run side by side (`pytest -n`), file by file: who shares what is costly, and who must be alone.

Most tests wait for brokers, so more of them than there are cores run at once. Files that share what takes seconds
to start go to one worker, one after the other; the long ones begin first. A test that works all the time is marked
`cpu`: it takes one of as many tokens as there are cores, so that those who wait for an answer are not kept from it by
more than that. A test that measures time by the clock is marked `alone`: it waits until the others have ended theirs,
and they wait for it. Files with such tests come last, so that few wait.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from tools.workers import cores

# Files that share what is costly, by how their paths begin, in the order in which the groups start: those that take
# long come first, lest the others wait for them in the end. A file that is in none of them is a group of its own,
# before those that hold tests to be run alone.
GROUPS = (
    ("tests/pipeline/",),  # one Spark session
    ("tests/golden/",),  # one broker of Apache Kafka
    ("tests/pipeline/test_jvm_", "tests/pipeline/test_same_as_jvm", "tests/pipeline/test_examples"),
    ("tests/pipeline/kills/",),
    ("tests/simulation/test_simulation",),
    ("tests/pipeline/test_standalone", "tests/pipeline/test_shell"),
    ("tests/crash/test_kill_nine",),
    ("tests/faults/",),
    ("tests/security/",),  # one broker of Apache Kafka
    ("tests/unit/cluster/",),  # one ZooKeeper
)
ALONE = (
    "tests/cluster/test_failover",
    "tests/cluster/test_throttled_reassignment",
    "tests/cluster/test_zookeeper_away",
    "tests/robustness/test_groups",
)
WORKER = "PYTEST_XDIST_WORKER"
LOOKS_AGAIN_S = 0.05


def place(nodeid: str) -> int:
    """Which of the groups a test belongs to, by the longest path that fits; if to none, one more than the last."""
    if nodeid.startswith(ALONE):
        return len(GROUPS) + 1
    fits = [
        (len(prefix), number)
        for number, prefixes in enumerate(GROUPS)
        for prefix in prefixes
        if nodeid.startswith(prefix)
    ]
    return max(fits)[1] if fits else len(GROUPS)


def group(nodeid: str) -> str:
    """The name of the group that a test belongs to."""
    number = place(nodeid)
    if number < len(GROUPS):
        return GROUPS[number][0]
    return nodeid.split("::", 1)[0] if number == len(GROUPS) else "alone"


def is_alone(item: pytest.Item) -> bool:
    """Whether nothing may run beside a test."""
    return item.get_closest_marker("alone") is not None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The order in which groups begin; a single process keeps the order of the files."""
    misplaced = [each.nodeid for each in items if is_alone(each) and group(each.nodeid) != "alone"]
    assert not misplaced, f"add to ALONE in {__name__} the files of {misplaced}"
    if WORKER in os.environ:
        items.sort(key=lambda item: (place(item.nodeid), is_alone(item)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """Deals groups of files out to the workers."""
    from xdist.scheduler import LoadScopeScheduling

    class ByGroup(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group(nodeid)

    return ByGroup(config, log)


@contextmanager
def held(path: Path, how: int) -> Iterator[None]:
    """A lock among the workers."""
    with path.open("a") as file:
        fcntl.flock(file, how)
        yield


@contextmanager
def token(directory: Path) -> Iterator[None]:
    """One of as many locks as there are cores; the kernel frees those of a worker that died."""
    with ExitStack() as files:
        tokens = [
            files.enter_context((directory / f"token-{number}").open("a"))
            for number in range(cores())
        ]
        while not any(map(locked, tokens)):
            time.sleep(LOOKS_AGAIN_S)
        yield


def locked(file: IO[str]) -> bool:
    """Take a lock if it is free."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """A test runs beside others, or alone. Whoever waits to be alone keeps the door, so that no more come in.

    Outside of everything else: the time-out of a test does not begin while it waits.
    """
    if WORKER not in os.environ:
        return (yield)
    directory = item.config._tmp_path_factory.getbasetemp().parent  # type: ignore[attr-defined]
    how = fcntl.LOCK_EX if is_alone(item) else fcntl.LOCK_SH
    with ExitStack() as inside:
        with held(directory / "door", fcntl.LOCK_EX):
            inside.enter_context(held(directory / "room", how))
        if item.get_closest_marker("cpu") is not None:
            inside.enter_context(token(directory))
        return (yield)

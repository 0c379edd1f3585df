"""Tests run side by side (`pytest -n`), file by file: who shares what is costly, and who must be alone.

Most tests wait for brokers, so more of them than there are cores run at once. Files that share what takes seconds
to start go to one worker, one after the other; the long ones begin first. A test that measures time is marked
`alone`: it waits until the others have ended theirs, and they wait for it.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

# Where a group of files begins its path; the first that fits counts. Else a file is a group of its own.
TOGETHER = (
    "tests/pipeline/kills/",
    "tests/pipeline/test_standalone",
    "tests/pipeline/test_examples",
    "tests/pipeline/test_shell",
    "tests/pipeline/",  # one Spark session
    "tests/golden/",  # one broker of Apache Kafka
    "tests/security/",  # one broker of Apache Kafka
    "tests/unit/cluster/",  # one ZooKeeper
)
LONGEST_FIRST = ("tests/pipeline/", "tests/golden/", "tests/faults/", "tests/crash/")
LAST = len(LONGEST_FIRST)
WORKER = "PYTEST_XDIST_WORKER"


def group(nodeid: str) -> str:
    """The group of files that a test belongs to."""
    file = nodeid.split("::", 1)[0]
    return next((prefix for prefix in TOGETHER if file.startswith(prefix)), file)


def turn(item: pytest.Item) -> int:
    """Groups that take long come first, lest the others wait for them in the end."""
    fits = (place for place, prefix in enumerate(LONGEST_FIRST) if item.nodeid.startswith(prefix))
    return next(fits, LAST)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The order in which groups begin; a single process keeps the order of the files."""
    if WORKER in os.environ:
        items.sort(key=turn)


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


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """A test runs beside others, or alone. Whoever waits to be alone keeps the door, so that no more come in.

    Outside of everything else: the time-out of a test does not begin while it waits.
    """
    if WORKER not in os.environ:
        return (yield)
    directory = item.config._tmp_path_factory.getbasetemp().parent  # type: ignore[attr-defined]
    alone = item.get_closest_marker("alone") is not None
    with ExitStack() as inside:
        with held(directory / "door", fcntl.LOCK_EX):
            inside.enter_context(
                held(directory / "room", fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
            )
        return (yield)

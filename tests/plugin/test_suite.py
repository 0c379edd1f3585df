"""The suite beside this file passes as it is, on two workers, with nothing to set up."""

import os
import subprocess
import sys
from pathlib import Path

from tests.support.requirements import REQUIREMENTS

SUITE = Path(__file__).with_name("suite")


def environment() -> tuple[dict[str, str], str]:
    """Where ZooKeeper is, if it can be had, and how the suite ends then."""
    has_java, has_maven = (REQUIREMENTS[name][0]() for name in ("java", "maven"))
    if not has_java:
        return dict(os.environ), "12 passed, 2 skipped"
    if not has_maven:
        return dict(os.environ), "14 passed"  # PySpark brings a ZooKeeper
    from tools.apache_zookeeper import jars

    return {**os.environ, "ZOOKEEPER_HOME": str(jars())}, "14 passed"


def test_the_suite_passes_on_two_workers() -> None:
    variables, summary = environment()
    options = ["-n", "2", "--dist", "loadfile", "--maxfail", "1", "-p", "no:cacheprovider"]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", str(SUITE), "-c", str(SUITE / "pytest.ini"), *options],
        capture_output=True,
        text=True,
        # The suite's own time-out, of a minute for a test, comes first and says more.
        timeout=240,
        env=variables,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert summary in ran.stdout

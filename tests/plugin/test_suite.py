"""The suite beside this file passes as it is, on two workers, with nothing to set up."""

import re
import subprocess
import sys
from pathlib import Path

SUITE = Path(__file__).with_name("suite")


def test_the_suite_passes_on_two_workers() -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-n",
        "2",
        "--dist",
        "loadfile",
        "-p",
        "no:cacheprovider",
    ]
    ran = subprocess.run(
        [*command, str(SUITE), "-c", str(SUITE / "pytest.ini")],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert re.search(r"\b12 passed\b", ran.stdout), ran.stdout

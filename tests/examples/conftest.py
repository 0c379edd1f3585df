"""Runs the examples as processes, and ends them with the test."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def start_example() -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Starts an example with some arguments; its output and its errors can be read."""
    running: list[subprocess.Popen[str]] = []

    def start(name: str, *arguments: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, str(EXAMPLES / name), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        return process

    yield start
    for process in running:
        process.kill()
        process.communicate(timeout=10)

"""A hundred brokers come to know the same of each other and of their topics, whoever was away meanwhile."""

import subprocess
import sys


def test_a_hundred_brokers_agree_in_the_end() -> None:
    command = [sys.executable, "-m", "tests.simulation.crowd", "0", "100"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]

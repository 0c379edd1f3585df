"""Processes of one driver know each other."""

import subprocess
import sys
from pathlib import Path

import pytest

from ottla.pipeline.sink_driver import driver_process

ASK = "from ottla.pipeline.sink_driver import driver_process; print(driver_process())"
CHILD = f"""
import subprocess
python, code = {sys.executable!r}, {ASK!r}
again = f"import subprocess; subprocess.run([{{python!r}}, '-c', {{code!r}}], check=True)"
for each in (code, again):
    subprocess.run([python, "-c", each], check=True)
"""


def children(jvm: Path) -> list[str]:
    """What a child of a process named java says, and a child of its child."""
    command = [jvm, "-c", CHILD]
    return subprocess.run(command, check=True, stdout=-1, text=True, timeout=60).stdout.split()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc here")
def test_two_processes_of_a_driver_know_it_and_those_of_another_do_not(tmp_path: Path) -> None:
    jvm = tmp_path / "java"
    jvm.symlink_to(Path(sys.executable).resolve())
    first, second = children(jvm), children(jvm)
    assert first[0] == first[1] != "None"
    assert second[0] == second[1] != first[0]


def test_a_process_without_a_driver_knows_none() -> None:
    assert driver_process() is None

"""Commands limited by the CPU time they use, in place of the clock: a busy machine makes no test fail."""

import os
import resource
import subprocess
from collections.abc import Mapping, Sequence


def run_within(
    cpu_s: int, command: Sequence[str], environment: Mapping[str, str] = os.environ
) -> tuple[int, str]:
    """Run a command, killed once it has used so many seconds of CPU; return its exit code and its output."""
    with subprocess.Popen(
        command,
        env=dict(environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
    ) as process:
        resource.prlimit(process.pid, resource.RLIMIT_CPU, (cpu_s, cpu_s))
        output, _ = process.communicate()
    if process.returncode < 0:
        output += (
            f"\n{command[0]} was ended by signal {-process.returncode}; it may use {cpu_s} s of CPU"
        )
    return process.returncode, output

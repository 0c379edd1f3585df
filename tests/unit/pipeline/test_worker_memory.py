"""A worker that keeps its memory does not fault it in again for every fetch."""

import subprocess
import sys

COUNTS_FAULTS = """
import resource
import numpy as np
from ottla.pipeline.worker_memory import keep_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        blocks = [np.ones(4 << 20, np.uint8) for _ in range(3)]
        del blocks
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

keep_memory()
faults()
print(faults())
"""


def test_large_blocks_are_used_again() -> None:
    # In a process of its own: how malloc behaves is for ever, and depends on all that came before.
    done = subprocess.run(
        [sys.executable, "-c", COUNTS_FAULTS],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert int(done.stdout) < 20 * 3 * 1024 / 10

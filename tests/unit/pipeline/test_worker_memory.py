"""A worker that keeps its memory does not fault it in again for every fetch, and does not search it for garbage."""

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


SPARED = """
import gc
from ottla.pipeline.worker_memory import spares_collector

@spares_collector
def work(numbers):
    global kept
    kept = [[number] for number in numbers]
    return len(kept)

assert gc.get_freeze_count() == 0
assert work(range(1000)) == 1000
first = gc.get_freeze_count()
assert first >= 1000
kept = None
assert work(range(3000)) == 3000
assert gc.get_freeze_count() <= first
"""


def test_what_a_worker_has_after_its_first_work_is_no_affair_of_the_collector() -> None:
    subprocess.run([sys.executable, "-c", SPARED], timeout=60, check=True)

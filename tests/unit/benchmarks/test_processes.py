"""CPU time and memory come from the kernel, for a process and its children."""

import os
import subprocess
import sys
from pathlib import Path

from benchmarks.processes import cpu_seconds, evict_from_page_cache, memory_mb, tree

BURN = "import time\nwhile time.process_time() < 0.2: pass"


def test_the_cpu_time_of_a_child_that_ended_is_counted() -> None:
    before = cpu_seconds(os.getpid())

    subprocess.run([sys.executable, "-c", BURN], check=True)

    assert cpu_seconds(os.getpid()) - before >= 0.15


def test_a_living_child_belongs_to_the_tree_and_adds_its_memory() -> None:
    held = "held = bytes(50_000_000)\nprint('held', flush=True)\ninput()"
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", held], stdin=pipe, stdout=pipe) as child:
        assert child.stdout is not None
        child.stdout.readline()
        pids, own_mb = list(tree(os.getpid())), memory_mb(os.getpid())
        child_mb = memory_mb(child.pid)
        child.communicate(b"\n")

    assert child.pid in pids
    assert own_mb > child_mb > 0


def test_eviction_leaves_the_data_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "00000000000000000000.log").write_bytes(b"records")

    evict_from_page_cache(tmp_path)

    assert (tmp_path / "00000000000000000000.log").read_bytes() == b"records"

"""CPU time and memory of a broker process and its children, read from the kernel."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def tree(pid: int) -> Iterator[int]:
    """The process and all its living descendants."""
    yield pid
    with suppress(OSError):  # it may end while it is looked at
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from tree(int(child))


def _sum_over_tree(read: Callable[[int], float], pid: int) -> float:
    """What is read of the process, which must live, and of those descendants that still do."""
    total = read(pid)
    for descendant in islice(tree(pid), 1, None):
        with suppress(OSError):
            total += read(descendant)
    return total


def cpu_seconds(pid: int) -> float:
    """CPU time used so far, in nanosecond resolution, children that ended included."""
    return _sum_over_tree(lambda each: _own_cpu_seconds(each) + _reaped_cpu_seconds(each), pid)


def _own_cpu_seconds(pid: int) -> float:
    # The kernel's clock id of another process (clock_getcpuclockid): /proc/PID/stat counts in
    # ticks of 10 ms, too coarse for a broker that needs 80 ms for a million records.
    return time.clock_gettime((~pid << 3) | 2)


def _reaped_cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    children_user_ticks, children_system_ticks = int(fields[13]), int(fields[14])
    return (children_user_ticks + children_system_ticks) / TICKS_PER_SECOND


def memory_mb(pid: int) -> float:
    """Resident memory of the whole tree in MB; pages that processes share count once (PSS)."""
    return _sum_over_tree(_pss_kb, pid) * 1024 / 1e6


def _pss_kb(pid: int) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    raise RuntimeError(f"the kernel does not tell the memory of process {pid}")


def evict_from_page_cache(directory: Path) -> None:
    """Makes the next read of every segment in a partition's directory come from the disk."""
    for path in directory.glob("*.log"):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)  # dirty pages cannot be dropped
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)

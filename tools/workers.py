"""How many tests run side by side here: `python -m tools.workers`."""

import os
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")
FEWEST, MOST = 2, 6
A_CORE = 2
"""Workers by core: most tests wait for a broker half of their time."""
MEMORY_OF_A_WORKER = 2 << 30


def cores(cgroup: Path = CGROUP) -> int:
    """Cores that this process may use, by its affinity and by the quota of its container."""
    allowed = len(os.sched_getaffinity(0))
    quota_us, _, period_us = _first_line(cgroup / "cpu.max").partition(" ")
    if quota_us.isdigit():
        allowed = min(allowed, -(-int(quota_us) // int(period_us)))
    return max(1, allowed)


def memory_bytes(cgroup: Path = CGROUP) -> int:
    """Memory that this machine has, or its container may use."""
    has = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = _first_line(cgroup / "memory.max")
    return min(has, int(limit)) if limit.isdigit() else has


def workers(cores: int, memory_bytes: int) -> int:
    """Two for each core, within bounds; no more than fit into memory, but one."""
    wanted = min(max(FEWEST, A_CORE * cores), MOST)
    return max(1, min(wanted, memory_bytes // MEMORY_OF_A_WORKER))


def _first_line(path: Path) -> str:
    try:
        return path.read_text().partition("\n")[0]
    except OSError:
        return ""


if __name__ == "__main__":
    print(workers(cores(), memory_bytes()))

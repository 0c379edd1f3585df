"""`python -m tests.faults.mistimed CLOCK broker ...`: runs `ottla` with a wall clock that is off by what a file says.

Only the wall clock: what merely counts, as event loops and time-outs do, goes on as it did.
"""

from __future__ import annotations

import mmap
import struct
import sys
import time
from pathlib import Path
from typing import Final

_OFF_NS: Final = struct.Struct("<q")


def set_clock(clock: Path, seconds: float) -> None:
    """Let those who go by this clock be off by so much from now on, whether they run already or not."""
    clock.touch()
    with clock.open("r+b", buffering=0) as file:
        file.write(_OFF_NS.pack(round(seconds * 1e9)))


def go_by(clock: Path) -> None:
    """From now on the time of day of this process is what the file makes of it."""
    with clock.open("rb") as file:
        off = mmap.mmap(file.fileno(), _OFF_NS.size, prot=mmap.PROT_READ)
    true_time_ns = time.time_ns

    def time_ns() -> int:
        return true_time_ns() + int(_OFF_NS.unpack_from(off)[0])

    time.time_ns = time_ns
    time.time = lambda: time_ns() / 1e9


if __name__ == "__main__":
    go_by(Path(sys.argv[1]))
    from ottla.cli.main import main

    sys.exit(main(sys.argv[2:]))

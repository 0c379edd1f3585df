"""The named steps of a write, at which a test can hold it to see what a crash there does.

With OTTLA_SINK_STEPS set to a directory, a step of which there is a file SINK/STEP waits: the file becomes
SINK/STEP.reached with the process id in it, and the write goes on once that is gone. Without it, a step is nothing.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

VARIABLE: Final = "OTTLA_SINK_STEPS"
SINK_OPENED: Final = "sink-opened"
SLOT_OPENED: Final = "slot-opened"
FIRST_SENT: Final = "first-sent"
PART_WRITTEN: Final = "part-written"
PART_SKIPPED: Final = "part-skipped"
PART_COMMITTED: Final = "part-committed"
BEFORE_COMMIT: Final = "before-commit"
AFTER_COMMIT: Final = "after-commit"

_LONGEST_S: Final = 120.0
_POLL_S: Final = 0.01


def reached(step: str, sink_id: str = "") -> None:
    """Tell that a write to a sink is at this step, and wait there if a test wants that."""
    directory = os.environ.get(VARIABLE)
    if directory is not None and take(Path(directory, sink_id), step):
        deadline = time.monotonic() + _LONGEST_S
        while is_mine(Path(directory, sink_id), step) and time.monotonic() < deadline:
            time.sleep(_POLL_S)


def take(directory: Path, step: str) -> bool:
    """Whether this process is the one that waits at the step: only one does, and only once."""
    mine = directory / f"{step}.{os.getpid()}"
    try:
        (directory / step).rename(mine)
    except FileNotFoundError:
        return False
    mine.write_text(str(os.getpid()))
    mine.rename(directory / f"{step}.reached")
    return True


def is_mine(directory: Path, step: str) -> bool:
    """Whether this process still has to wait at the step."""
    try:
        return (directory / f"{step}.reached").read_text() == str(os.getpid())
    except FileNotFoundError:
        return False

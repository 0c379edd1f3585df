"""The named steps of a write, at which a test can hold it to see what a crash there does.

With OTTLA_SINK_STEPS set to a directory, a step of which there is a file waits: the file becomes STEP.reached with the
process id in it, and the step goes on once STEP.PID.go is there. Without it, a step is nothing.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

VARIABLE: Final = "OTTLA_SINK_STEPS"
SLOT_OPENED: Final = "slot-opened"
FIRST_SENT: Final = "first-sent"
PART_WRITTEN: Final = "part-written"
PART_SKIPPED: Final = "part-skipped"
BEFORE_COMMIT: Final = "before-commit"
AFTER_COMMIT: Final = "after-commit"
STEPS: Final = (
    SLOT_OPENED,
    FIRST_SENT,
    PART_WRITTEN,
    PART_SKIPPED,
    BEFORE_COMMIT,
    AFTER_COMMIT,
)

_LONGEST_S: Final = 120.0
_POLL_S: Final = 0.01


def reached(step: str) -> None:
    """Tell that a write is at this step, and wait there if a test wants that."""
    directory = os.environ.get(VARIABLE)
    if directory is not None:
        _hold(Path(directory), step)


def _hold(directory: Path, step: str) -> None:
    mine = directory / f"{step}.{os.getpid()}"
    try:
        # Only one process takes the step, and only once.
        (directory / step).rename(mine)
    except FileNotFoundError:
        return
    mine.write_text(str(os.getpid()))
    mine.rename(directory / f"{step}.reached")
    go = directory / f"{step}.{os.getpid()}.go"
    deadline = time.monotonic() + _LONGEST_S
    while not go.exists() and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    go.unlink(missing_ok=True)

"""Which driver a Python process works for: Spark tells those that plan and end a batch neither the query nor its run.

Both are children of the driver's JVM, or of a process that it keeps for making them, so that is by what they know each
other. Where there is no /proc nobody is known.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Final

_JVM: Final = "java"
_GENERATIONS: Final = 2
_PARENT_FIELD: Final = 1
_START_FIELD: Final = 19


def driver_process() -> str | None:
    """The driver's JVM, told from every other one there is or was; None if it cannot be found."""
    pid = os.getppid()
    for _ in range(_GENERATIONS):
        try:
            name, fields = _process(pid)
        except (OSError, ValueError):
            return None
        if name == _JVM:
            return f"{socket.gethostname()}:{pid}:{fields[_START_FIELD]}"
        pid = int(fields[_PARENT_FIELD])
    return None


def _process(pid: int) -> tuple[str, list[str]]:
    """The name of a process, and what follows it in its line."""
    line = Path("/proc", str(pid), "stat").read_text(errors="replace")
    _, _, named = line.partition("(")
    name, _, rest = named.rpartition(")")
    return name, rest.split()

"""Where the commands of this installation are: a line with a full path works in any terminal, whatever its PATH."""

from __future__ import annotations

import shlex
import sys
import sysconfig
from pathlib import Path


def command(name: str) -> str:
    """Return the quoted path of one of our programs, or its bare name where it was not installed."""
    beside_us = Path(sys.argv[0]).parent
    for directory in (beside_us, Path(sysconfig.get_path("scripts"))):
        if (directory / name).is_file():
            return shlex.quote(str((directory / name).absolute()))
    return name


def python() -> str:
    """Return the quoted path of the Python that ottla is installed in."""
    return shlex.quote(sys.executable)

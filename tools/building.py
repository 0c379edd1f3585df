"""Programs of others that are fetched and built here: what that needs, and what went wrong."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

LAST_LINES = 15


class BuildFailed(Exception):
    """Something cannot be fetched or built on this machine; the message says why."""


def require(what: str, programs: Sequence[str], advice: str) -> None:
    """BuildFailed unless the machine has all programs."""
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        raise BuildFailed(
            f"{what} cannot be built: {', '.join(missing)} not found; install {advice}"
        )


def run(
    command: Sequence[str],
    directory: Path,
    failed: str,
    environment: Mapping[str, str] | None = None,
) -> str:
    """What a command prints; BuildFailed, with the last of it, if it fails."""
    done = subprocess.run(
        command,
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        last = "\n".join(done.stdout.splitlines()[-LAST_LINES:])
        raise BuildFailed(f"{failed}; `{' '.join(command)}` said:\n{last}")
    return done.stdout

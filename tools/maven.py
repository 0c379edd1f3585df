"""Brings jars from Maven Central into .cache, once."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class JarsUnavailable(Exception):
    """The jars cannot be brought to this machine, or not run on it; the message says what to do."""


def fetched(pom: Path, directory: Path) -> Path:
    """The directory of the jars that a POM names, fetched through Maven when it is new or changed."""
    _require_programs()
    stamp = directory / ".complete"
    wanted = hashlib.sha256(pom.read_bytes()).hexdigest()
    with _exclusive(directory.with_name(f"{directory.name}.lock")):
        if not stamp.exists() or stamp.read_text() != wanted:
            _fetch(pom, directory)
            stamp.write_text(wanted)
    return directory


def _require_programs() -> None:
    missing = [program for program in ("java", "mvn") if shutil.which(program) is None]
    if missing:
        raise JarsUnavailable(
            f"install Java 17 and Maven: {' and '.join(missing)} not found "
            "(Debian: apt-get install openjdk-17-jre-headless maven)"
        )


@contextmanager
def _exclusive(lock: Path) -> Iterator[None]:
    """Holds a lock file, so that of two processes only one fetches."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _fetch(pom: Path, directory: Path) -> None:
    shutil.rmtree(directory, ignore_errors=True)
    command = ["mvn", "-B", "-q", "-f", str(pom), "dependency:copy-dependencies"]
    options = ["-DincludeScope=runtime", f"-DoutputDirectory={directory}"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise JarsUnavailable(
            f"Maven could not bring the jars of {pom} from Maven Central; check the network and "
            f"Maven's settings:\n{done.stdout}{done.stderr}"
        )

"""Brings jars from Maven Central into .cache, once."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

from tools.lock import exclusive


class JarsUnavailable(Exception):
    """The jars cannot be brought to this machine, or not run on it; the message says what to do."""


def fetched(pom: Path, directory: Path) -> Path:
    """The directory of the jars that a POM names, fetched through Maven when it is new or changed."""
    _require_programs()
    stamp = directory / ".complete"
    wanted = hashlib.sha256(pom.read_bytes()).hexdigest()
    with exclusive(directory.with_name(f"{directory.name}.lock")):
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

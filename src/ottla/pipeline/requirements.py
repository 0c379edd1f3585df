"""What Spark needs beside Python, and what to say where it is missing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Final

from ottla.base.errors import OttlaError

OLDEST_JAVA: Final = 17
OLDEST_PYSPARK: Final = (4, 2)
_JAVA_TIMEOUT_S: Final = 20
_INSTALL: Final = "install it with: pip install 'ottla[spark]'"


class RequirementMissing(OttlaError):
    """Something that Spark needs is not there, or too old."""


def check_requirements() -> None:
    """Raise RequirementMissing with what to do, unless PySpark and Java are there and new enough."""
    _check_pyspark()
    for package in ("pyarrow", "numba"):
        if _version_of(package) is None:
            raise RequirementMissing(f"{package} is missing; {_INSTALL}")
    _check_java()


def java_version(text: str) -> int | None:
    """The major version in what `java -version` prints."""
    found = re.search(r'version "(\d+)(?:\.(\d+))?', text)
    if found is None:
        return None
    # Up to 8 the number began with 1.
    return int(found[2] or 0) if found[1] == "1" else int(found[1])


def _check_pyspark() -> None:
    version = _version_of("pyspark")
    if version is None:
        raise RequirementMissing(f"PySpark is missing; {_INSTALL}")
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if numbers < OLDEST_PYSPARK:
        oldest = ".".join(map(str, OLDEST_PYSPARK))
        raise RequirementMissing(f"PySpark {version} is too old: {oldest} is needed; {_INSTALL}")


def _check_java() -> None:
    java = _java()
    needed = f"Spark needs Java {OLDEST_JAVA} or newer"
    how = "install one (such as openjdk-17-jre-headless) and set JAVA_HOME if it is not on the PATH"
    if java is None:
        raise RequirementMissing(f"no Java was found; {needed}: {how}")
    try:
        run = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=_JAVA_TIMEOUT_S, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise RequirementMissing(f"{java} does not run ({error}); {needed}: {how}") from error
    version = java_version(run.stderr + run.stdout)
    if version is not None and version < OLDEST_JAVA:
        raise RequirementMissing(f"{java} is Java {version}; {needed}: {how}")


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    if home:
        found = Path(home, "bin", "java")
        return str(found) if found.exists() else None
    return shutil.which("java")


def _version_of(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None

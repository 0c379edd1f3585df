"""What Spark needs from the machine, checked before Spark is asked: a sentence instead of a Java stack trace."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from ottla.base.errors import OttlaError

OLDEST_PYSPARK: Final = (4, 2)
OLDEST_JAVA: Final = 17
_IMPORTED: Final = ("numba", "numpy", "pyarrow")
_ANSWER_WITHIN_S: Final = 30.0
_INSTALL: Final = "pip install 'ottla[spark]'"
_GET_JAVA: Final = (
    f"install Java {OLDEST_JAVA} or newer (Debian: apt-get install openjdk-17-jre-headless), "
    "or name one with JAVA_HOME"
)


class SparkUnavailable(OttlaError):
    """Spark cannot run here; the message says what is missing and how to get it."""


def require_spark() -> None:
    """Raise SparkUnavailable unless pyspark and Java are there, and new enough."""
    require_pyspark()
    require_java()


def require_packages() -> None:
    """Raise SparkUnavailable unless all that `format("ottla")` imports is there, and new enough."""
    require_pyspark()
    if missing := [name for name in _IMPORTED if find_spec(name) is None]:
        raise SparkUnavailable(
            f"format('ottla') needs {' and '.join(missing)}, which is not installed: {_INSTALL}"
        )


def require_pyspark() -> str:
    """The version of pyspark."""
    found = _pyspark_version()
    if found is None:
        raise SparkUnavailable(f"pyspark is not installed: {_INSTALL}")
    if tuple(int(part) for part in re.findall(r"\d+", found)[:2]) < OLDEST_PYSPARK:
        oldest = ".".join(map(str, OLDEST_PYSPARK))
        raise SparkUnavailable(
            f"pyspark {found} is too old, {oldest} is the first with all that format('ottla') "
            f"needs: {_INSTALL} --upgrade"
        )
    return found


def require_java() -> int:
    """The version of Java that Spark would start."""
    program = _java()
    try:
        done = subprocess.run(
            [program, "-version"],
            capture_output=True,
            text=True,
            timeout=_ANSWER_WITHIN_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as failure:
        raise SparkUnavailable(f"{program} does not start ({failure}): {_GET_JAVA}") from None
    found = java_version(done.stderr + done.stdout)
    if found is None:
        raise SparkUnavailable(f"{program} does not tell its version: {_GET_JAVA}")
    if found < OLDEST_JAVA:
        raise SparkUnavailable(f"{program} is Java {found}, too old for Spark: {_GET_JAVA}")
    return found


def java_version(banner: str) -> int | None:
    """The number that people call a Java by, from what `java -version` prints."""
    match = re.search(r'version "(?:1\.)?(\d+)', banner)
    return None if match is None else int(match[1])


def _pyspark_version() -> str | None:
    # Not what pip knows: a distribution of Spark brings a pyspark of its own.
    try:
        from pyspark import __version__
    except ModuleNotFoundError as missing:
        # Anything else that is missing is wanted by pyspark, or by a file that shadows one of its modules.
        if missing.name != "pyspark":
            raise
        return None
    return str(__version__)


def _java() -> str:
    if home := os.environ.get("JAVA_HOME"):
        return str(Path(home) / "bin" / "java")
    found = shutil.which("java")
    if found is None:
        raise SparkUnavailable(f"Spark needs Java, and there is none: {_GET_JAVA}")
    return found

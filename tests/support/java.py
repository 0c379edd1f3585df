"""Runs Kafka's own command-line tools, and small programs with its clients, and shows what they said when they fail."""

import atexit
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from tests.support.requirements import requires

TAIL_CHARS = 4000
COMPILE_TIMEOUT_S = 60.0


def run_java(
    class_name: str, *args: str, input: str | None = None, timeout_s: float = 60.0, code: int = 0
) -> str:
    """What the tool printed (both streams); its exit code must be the expected one."""
    requires("java", "maven")
    from tools.apache_kafka import run_tool

    done = run_tool(class_name, args, input=input, timeout=timeout_s)
    output = done.stdout + done.stderr
    assert done.returncode == code, (
        f"{class_name} {' '.join(args)} ended with {done.returncode}:\n{output[-TAIL_CHARS:]}"
    )
    return output


@cache
def compiled(source: Path) -> tuple[str, ...]:
    """The command, without arguments, that runs a program of one file that uses Kafka's jars.

    Compiled once: `java File.java` would do it at each start, which takes a second of a core.
    """
    requires("javac", "maven")
    from tools.apache_kafka import LOG4J, TOOL_JVM_OPTIONS, jars

    classes = tempfile.TemporaryDirectory(prefix="classes-")
    atexit.register(classes.cleanup)
    compiling = ["javac", "-cp", f"{jars()}/*", "-d", classes.name, str(source)]
    done = subprocess.run(
        compiling, capture_output=True, text=True, timeout=COMPILE_TIMEOUT_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    logging = f"-Dlog4j2.configurationFile={LOG4J}"
    return ("java", *TOOL_JVM_OPTIONS, logging, "-cp", f"{jars()}/*:{classes.name}", source.stem)

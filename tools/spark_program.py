"""Runs Spark in a process of its own and asks it to do things: tools/spark/program.py is what runs there."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

PROGRAM = Path(__file__).resolve().parent / "spark" / "program.py"
MASTER = "local[2]"
START_SECONDS = 90.0
TASK_SECONDS = 120.0
STOP_SECONDS = 30.0
LOG_CHARS = 4000
QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}


class SparkFailed(Exception):
    """Spark did not start, did not answer, or could not do what it was asked; the message says what it said."""


class SparkProgram:
    """A Spark session in another process, alive as long as its context; it has one connector, named by its format."""

    def __init__(
        self,
        format: str,
        log_file: Path,
        conf: Mapping[str, str] | None = None,
        python: Path | None = None,
        environment: Mapping[str, str] | None = None,
        master: str = MASTER,
    ) -> None:
        self.log_file = log_file
        setup = {"format": format, "master": master, "conf": {**QUIET, **(conf or {})}}
        self._command = [str(python or sys.executable), "-P", str(PROGRAM), json.dumps(setup)]
        own = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
        self._environment = {**os.environ, **own, **(environment or {})}
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        with self.log_file.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        try:
            self._answer(START_SECONDS)
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        process = self._process
        if process is None:
            return
        with suppress(BrokenPipeError, subprocess.TimeoutExpired):
            process.communicate(timeout=STOP_SECONDS)
        self.kill()

    @property
    def pid(self) -> int:
        """The process id of the session's driver."""
        if self._process is None:
            raise SparkFailed("Spark is not running")
        return self._process.pid

    def ask(self, do: str, timeout_seconds: float = TASK_SECONDS, **task: Any) -> dict[str, Any]:
        """Have something done, and return what it answers."""
        process = self._process
        if process is None or process.stdin is None:
            raise SparkFailed("Spark is not running")
        process.stdin.write(json.dumps({"do": do, **task}).encode() + b"\n")
        process.stdin.flush()
        answer = self._answer(timeout_seconds)
        if "error" in answer:
            raise SparkFailed(answer["error"])
        return answer

    def kill(self) -> None:
        """End the process at once."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def _answer(self, timeout_seconds: float) -> dict[str, Any]:
        process = self._process
        if process is None or process.stdout is None:
            raise SparkFailed("Spark is not running")
        ready, _, _ = select.select([process.stdout], [], [], timeout_seconds)
        line = process.stdout.readline() if ready else b""
        if not line:
            why = "ended" if ready else f"did not answer within {timeout_seconds:g} s"
            log = self.log_file.read_text(errors="replace")
            raise SparkFailed(f"Spark {why}:\n{log[-LOG_CHARS:]}")
        answer: dict[str, Any] = json.loads(line)
        return answer

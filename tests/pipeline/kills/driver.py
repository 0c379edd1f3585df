"""The driver of a job as a process that can be killed, and the steps at which it can be held."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from ottla.pipeline.sink_steps import VARIABLE
from tests.pipeline.kills.job import Job
from tests.support.waiting import wait_for

REPOSITORY = Path(__file__).parents[3]
LONGEST_RUN_S = 900
_EXECUTOR = "CoarseGrainedExecutorBackend"


class Steps:
    """Holds a write at a step, and lets it go on."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir()

    def arm(self, step: str) -> None:
        """Whoever comes to the step next waits there."""
        self._path(step, ".reached").unlink(missing_ok=True)
        self._path(step).touch()

    def disarm(self, step: str) -> None:
        """Nobody waits at the step any more."""
        self._path(step).unlink(missing_ok=True)
        self.let_go(step)

    def let_go(self, step: str) -> None:
        """Whoever waits at the step goes on."""
        process = self.reached_by(step)
        if process is not None:
            self._path(step, f".{process}.go").touch()

    def reached_by(self, step: str) -> int | None:
        """The process that waits at the step."""
        path = self._path(step, ".reached")
        return int(path.read_text()) if path.exists() else None

    def _path(self, step: str, suffix: str = "") -> Path:
        return self.directory / f"{step}{suffix}"


class Driver:
    """One life of a job's driver, with all that Spark starts for it."""

    def __init__(self, job: Job, steps: Steps, log_file: Path) -> None:
        self._log_file = log_file
        environment = {**os.environ, VARIABLE: str(steps.directory), "PYTHONPATH": str(REPOSITORY)}
        with log_file.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.pipeline.kills.job", job.argument()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=REPOSITORY,
                env=environment,
                start_new_session=True,
            )

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self._process.poll() is None

    @property
    def log(self) -> str:
        """What it, and those before it, have printed."""
        return self._log_file.read_text(errors="replace")

    def finished(self) -> bool:
        """Wait until it ends; says whether it ended well."""
        try:
            return self._process.wait(LONGEST_RUN_S) == 0
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the job did not end:\n{self.log[-4000:]}") from None

    def kill(self) -> None:
        """SIGKILL to the driver, its Java and its executors: none of them can say good-bye."""
        members = _session(self._process.pid)
        for pid in members:
            _kill(pid)
        self._process.wait(10)
        wait_for(lambda: not _session(self._process.pid), "the driver's processes to be gone")

    def executors(self) -> list[int]:
        """The Java processes of the executors."""
        return [pid for pid in _session(self._process.pid) if _EXECUTOR in _command(pid)]


def ancestor_executor(pid: int) -> int | None:
    """The executor that a Python worker belongs to."""
    while pid > 1:
        if _EXECUTOR in _command(pid):
            return pid
        pid = _stat(pid, 3)
    return None


def _session(leader: int) -> list[int]:
    pids = (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit())
    return [pid for pid in pids if _stat(pid, 5) == leader and _state(pid) != "Z"]


def _stat(pid: int, field: int) -> int:
    """A number in /proc/PID/stat, 0 if the process is gone: 3 is the parent, 5 the session."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    return int(text.rpartition(")")[2].split()[field - 2])


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    except OSError:
        return ""


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)

"""The driver of an application as a process that can be killed, and the steps at which its jobs can be held."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from ottla.pipeline.sink_steps import VARIABLE
from tests.pipeline.kills.application import Application
from tests.support.waiting import wait_for

REPOSITORY = Path(__file__).parents[3]
LONGEST_RUN_S = 180
_EXECUTOR = "CoarseGrainedExecutorBackend"


class Steps:
    """Holds the writes to one sink at a step, and lets them go on."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(parents=True)

    def arm(self, step: str) -> None:
        """Whoever comes to the step next waits there; who waits there now goes on."""
        self.let_go(step)
        self._path(step).touch()

    def let_go(self, step: str) -> None:
        """Who waits at the step goes on."""
        self._path(step, ".reached").unlink(missing_ok=True)

    def clear(self) -> None:
        """Nobody waits anywhere."""
        for path in self.directory.iterdir():
            path.unlink(missing_ok=True)

    def reached_by(self, step: str) -> int | None:
        """The process that waits at the step and is alive; one that died there makes room for another."""
        path = self._path(step, ".reached")
        if not path.exists():
            return None
        process = int(path.read_text())
        if is_alive(process):
            return process
        self.arm(step)
        return None

    def _path(self, step: str, suffix: str = "") -> Path:
        return self.directory / f"{step}{suffix}"


class Driver:
    """One life of an application's driver, with all that Spark starts for it."""

    def __init__(
        self, application: Application, steps: Path, log_file: Path, sessions: Sequence[int] = ()
    ) -> None:
        self._sessions = sessions
        with log_file.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.pipeline.kills.job", application.argument()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=REPOSITORY,
                env={**os.environ, **workers_environment(steps)},
                start_new_session=True,
            )

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self._process.poll() is None

    def finished(self, patience: float) -> bool:
        """Wait until it ends; says whether it ended well."""
        longest_s = LONGEST_RUN_S * patience
        try:
            return self._process.wait(longest_s) == 0
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the jobs did not end within {longest_s:.0f} s") from None

    def kill(self) -> None:
        """SIGKILL to the driver, its Java and its executors: none of them can say good-bye."""
        kill_session(self._process.pid)
        self._process.wait(10)
        wait_for(lambda: not _session(self._process.pid), "the driver's processes to be gone")

    def executors(self) -> list[int]:
        """The Java processes of the executors."""
        of = (self._process.pid, *self._sessions)
        members = [pid for leader in of for pid in _session(leader)]
        return [pid for pid in members if _EXECUTOR in _command(pid)]


def workers_environment(steps: Path) -> dict[str, str]:
    """What Spark and its Python workers must know: where to stop, and where modules are."""
    paths = os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "src")])
    return {
        VARIABLE: str(steps),
        "PYTHONPATH": paths,
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_HOME": str(_spark_home(steps.with_name("spark"))),
    }


def _spark_home(home: Path) -> Path:
    """Spark without its packed copy of pyspark: of what is installed, the bytecode is there, too."""
    if not home.exists():
        home.mkdir()
        found = find_spec("pyspark")
        assert found is not None
        assert found.origin is not None
        for path in Path(found.origin).parent.iterdir():
            if path.name != "python":
                (home / path.name).symlink_to(path)
    return home


def kill_session(leader: int) -> None:
    """SIGKILL to a process and all that it has started."""
    for pid in _session(leader):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def ancestor_executor(pid: int) -> int | None:
    """The executor that a Python worker belongs to."""
    while pid > 1:
        if _EXECUTOR in _command(pid):
            return pid
        pid = _stat(pid, 3)
    return None


def is_alive(pid: int) -> bool:
    """Whether a process is there, and more than a name."""
    return _state(pid) != "Z"


def _session(leader: int) -> list[int]:
    pids = (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit())
    return [pid for pid in pids if _stat(pid, 5) == leader and is_alive(pid)]


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

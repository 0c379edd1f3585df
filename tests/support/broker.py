"""Runs a real ottla broker as a child process, for tests that need one."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

OTTLA = Path(sys.executable).with_name("ottla")
READY = re.compile(r"^ottla broker (\d+) ready on (\S+):(\d+)$", re.MULTILINE)
POLL_S = 0.01
LOG_TAIL_CHARS = 4000


def cpu_seconds(pid: int) -> float:
    """All that the threads of a process have used so far."""
    used_ns = (
        each.read_text().split()[0] for each in Path(f"/proc/{pid}/task").glob("*/schedstat")
    )
    return sum(map(int, used_ns)) / 1e9


class BrokerFailed(AssertionError):
    """The broker did not start, or did not stop, as it should."""


class OttlaBroker:
    """One `ottla broker` process on a free port; its log lies beside its data."""

    def __init__(
        self,
        data_dir: Path,
        settings: dict[str, str] | None = None,
        log_file: Path | None = None,
        start_timeout_s: float = 20.0,
        source: Path | None = None,
    ) -> None:
        self.data_dir = data_dir
        self.source = source
        """Where the package lies that is to run, unless it is the installed one."""
        self.settings = dict(settings or {})
        self.start_timeout_s = start_timeout_s
        self.log_file = log_file or data_dir.with_name(data_dir.name + ".log")
        self.start_seconds = 0.0
        self.start_cpu_seconds = 0.0
        """What the process had used when it was ready: others on this machine do not count."""
        self.host = "127.0.0.1"
        self.port = 0
        self.broker_id = -1
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        """HOST:PORT, as clients take it."""
        return f"{self.host}:{self.port}"

    @property
    def pid(self) -> int:
        """The process id of the running broker."""
        if self._process is None:
            raise BrokerFailed("the broker is not running")
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the process is alive."""
        return self._process is not None and self._process.poll() is None

    @property
    def log(self) -> str:
        """Everything the broker wrote so far, over all its lives."""
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""

    @property
    def rss_bytes(self) -> int:
        """Resident memory of the broker process."""
        return self._status_bytes("VmRSS")

    @property
    def peak_rss_bytes(self) -> int:
        """The most resident memory the broker process has had."""
        return self._status_bytes("VmHWM")

    def _status_bytes(self, field: str) -> int:
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        [kib] = [line.split()[1] for line in lines if line.startswith(f"{field}:")]
        return int(kib) * 1024

    def command(self, port: int) -> list[str]:
        """The command line that starts this broker."""
        sets = [part for pair in self.settings.items() for part in ("--set", "=".join(pair))]
        program = [str(OTTLA)] if self.source is None else [sys.executable, "-m", "ottla"]
        return [*program, "broker", "--port", str(port), "--data-dir", str(self.data_dir), *sets]

    def start(self) -> Self:
        """Start the process and wait for its ready line; a restart keeps the port."""
        self.data_dir.mkdir(parents=True, exist_ok=True)
        began_at = len(self.log)
        began = time.monotonic()
        with self.log_file.open("ab") as log:
            self._process = subprocess.Popen(
                self.command(self.port),
                env=os.environ | ({"PYTHONPATH": str(self.source)} if self.source else {}),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        ready = self._wait_until_ready(began_at, began + self.start_timeout_s)
        self.start_seconds = time.monotonic() - began
        self.start_cpu_seconds = cpu_seconds(self.pid)
        self.broker_id, self.host, self.port = int(ready[1]), ready[2], int(ready[3])
        return self

    def _wait_until_ready(self, log_position: int, deadline: float) -> re.Match[str]:
        while True:
            alive = self.running
            if ready := READY.search(self.log[log_position:]):
                return ready
            if not alive or time.monotonic() > deadline:
                self.kill()
                why = "was not ready in time" if alive else "ended"
                raise BrokerFailed(f"the broker {why}:\n{self.log[-LOG_TAIL_CHARS:]}")
            time.sleep(POLL_S)

    def stop(self, timeout_s: float = 20.0) -> int:
        """SIGTERM, wait, and return the exit code; a broker that hangs is killed and reported."""
        if self._process is None:
            return 0
        self._process.send_signal(signal.SIGTERM)
        try:
            code = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise BrokerFailed(
                f"the broker did not stop within {timeout_s:g} s:\n{self.log[-LOG_TAIL_CHARS:]}"
            ) from None
        self._process = None
        return code

    def kill(self) -> None:
        """SIGKILL, as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)
            self._process = None

    def restart(self) -> Self:
        """Stop cleanly and start again on the same port and data."""
        self.stop()
        return self.start()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None:
            self.stop()
        else:
            self.kill()

"""One life of a test's broker: its process, and the socket by which it is ruled."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ottla.base.errors import OttlaError

_ANSWER_TIMEOUT_S: Final = 30.0
_LOG_TAIL_CHARS: Final = 4000
# 500 modules are imported; to look for garbage among them meanwhile takes a tenth of the time.
_PROGRAM: Final = "import gc; gc.disable(); from ottla.testing.server import main; main()"


class BrokerFailed(OttlaError):
    """A test's broker did not start, did not stop, or does not answer; the message ends with its log."""


class BrokerProcess:
    """A child process that ends with its parent; what it says is appended to a file of a temporary directory."""

    def __init__(self, settings: Mapping[str, str], ahead_ms: int, log_file: Path) -> None:
        self._log_file = log_file
        self._lock = threading.Lock()
        ours, theirs = socket.socketpair()
        self._socket = ours
        self._lines = ours.makefile("rb")
        # -P: the directory that the tests run in may hold a module of any name.
        program = [sys.executable, "-P", "-c", _PROGRAM]
        assignments = [f"{name}={value}" for name, value in settings.items()]
        with theirs, log_file.open("ab") as log:
            self._child = subprocess.Popen(
                [*program, str(theirs.fileno()), str(ahead_ms), str(log_file.parent), *assignments],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Ctrl-C is for the tests: they end their brokers themselves.
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._child.pid

    @property
    def running(self) -> bool:
        """Whether it is alive."""
        return self._child.poll() is None

    def wait_until_ready(self, timeout_s: float) -> dict[str, Any]:
        """What it says of itself when it serves."""
        try:
            return self._read(timeout_s)
        except BrokerFailed:
            self.kill()
            raise

    def ask(self, command: str, **arguments: Any) -> Any:
        """Have it do something, and give back what came of it."""
        with self._lock:
            question = {"command": command, "arguments": arguments}
            try:
                self._socket.sendall(json.dumps(question).encode() + b"\n")
            except OSError:
                raise self._failed("has ended") from None
            answer = self._read(_ANSWER_TIMEOUT_S)
        if "failure" in answer:
            raise BrokerFailed(answer["failure"])
        return answer["result"]

    def stop(self, timeout_s: float) -> int:
        """SIGTERM, and its exit code; one that hangs is killed and reported."""
        self._child.send_signal(signal.SIGTERM)
        try:
            code = self._child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise self._failed(f"did not stop within {timeout_s:g} s") from None
        self._close()
        return code

    def kill(self) -> None:
        """SIGKILL, as a crash would."""
        self._child.kill()
        self._child.wait()
        self._close()

    def _read(self, timeout_s: float) -> dict[str, Any]:
        self._socket.settimeout(timeout_s)
        try:
            line = self._lines.readline()
        except TimeoutError:
            raise self._failed(f"says nothing for {timeout_s:g} s") from None
        except OSError:
            line = b""
        if not line:
            raise self._failed("has ended")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _failed(self, why: str) -> BrokerFailed:
        log = self._log_file.read_text(errors="replace")[-_LOG_TAIL_CHARS:]
        return BrokerFailed(f"the broker {why}; it said:\n{log}")

    def _close(self) -> None:
        self._lines.close()
        self._socket.close()

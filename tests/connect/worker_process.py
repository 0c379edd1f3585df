"""A real worker: `ottla connect start` as a process, and its REST API."""

import json
import os
import signal
import subprocess
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.broker import OTTLA
from tests.support.waiting import wait_for
from tools.java import SHORT_LIVED

READY = "ottla connect ready on "
STARTS_WITHIN_S = 30
STOPS_WITHIN_S = 30


class Answer(NamedTuple):
    """A status and a body of JSON, None if there is none."""

    status: int
    body: Any


class WorkerProcess:
    """A worker of a group of its own; started again it goes on."""

    def __init__(self, bootstrap: str, directory: Path, group: str) -> None:
        self.directory = directory
        self._log = directory / "worker.log"
        settings = {
            "group.id": group,
            "config.storage.topic": f"{group}-configs",
            "offset.storage.topic": f"{group}-offsets",
            "status.storage.topic": f"{group}-status",
            "offset.storage.partitions": "2",
            "offset.flush.interval.ms": "200",
            "file.roots": str(directory),
            "value.converter": "string",
        }
        sets = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
        self._command = [
            str(OTTLA),
            "connect",
            "start",
            "-b",
            bootstrap,
            "--listen",
            "127.0.0.1:0",
            *sets,
        ]
        self._process: subprocess.Popen[str] | None = None
        self.url = ""

    def start(self) -> None:
        """Start it; returns when its API answers."""
        environment = {**os.environ, "JAVA_TOOL_OPTIONS": " ".join(SHORT_LIVED)}
        with self._log.open("a") as log:
            self._process = subprocess.Popen(
                self._command,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=environment,
                start_new_session=True,
            )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line.startswith(READY), self._log.read_text()[-3000:]
        self.url = line.removeprefix(READY).strip()

    def kill(self) -> None:
        """SIGKILL to the worker, its JVM and its Python workers: the machine is gone."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._close()

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        assert self._process is not None
        self._process.terminate()
        code = self._process.wait(STOPS_WITHIN_S)
        self._close()
        return code

    def _close(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._process = None

    @property
    def is_running(self) -> bool:
        """True between start and stop."""
        return self._process is not None

    def api(self, method: str, path: str, body: Any = None) -> Answer:
        """Ask the REST API."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.url + path, data, {"content-type": "application/json"}, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                text = response.read()
                return Answer(response.status, json.loads(text) if text else None)
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, json.loads(error.read()))

    def wait_for_state(self, name: str, state: str, timeout_s: float = 60) -> dict[str, Any]:
        """Return the status of a connector once its task is in a state."""

        def status() -> Any:
            found = self.api("GET", f"/connectors/{name}/status").body
            tasks = found.get("tasks") or [found.get("connector", {})]
            return found if tasks[0].get("state") == state else None

        found: dict[str, Any] = wait_for(status, f"{name} to be {state}", timeout_s, every_s=0.1)
        return found

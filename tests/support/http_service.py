"""Runs `ottla http` as a child process, for tests that speak HTTP to it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from tests.support.broker import OTTLA

READY = re.compile(r"^ottla http ready on (\S+)$", re.MULTILINE)
START_S = 20.0


class HttpFailed(AssertionError):
    """The service did not start, or did not stop, as it should."""


class HttpService:
    """One `ottla http` on a free port."""

    def __init__(
        self,
        bootstrap: str,
        directory: Path,
        settings: Mapping[str, str] | None = None,
        *arguments: str,
    ) -> None:
        self._log_file = directory / "http.log"
        sets = [part for pair in (settings or {}).items() for part in ("--set", "=".join(pair))]
        self._command = [str(OTTLA), "http", "-b", bootstrap, "--listen", "127.0.0.1:0"]
        self._command += [*sets, *arguments]
        self._process: subprocess.Popen[bytes] | None = None
        self.url = ""
        self.start_seconds = 0.0

    @property
    def log(self) -> str:
        """Everything that it wrote."""
        return self._log_file.read_text(errors="replace") if self._log_file.exists() else ""

    @property
    def pid(self) -> int:
        """The process id."""
        assert self._process is not None
        return self._process.pid

    @property
    def rss_bytes(self) -> int:
        """Resident memory."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))

    def start(self) -> Self:
        """Start it, and wait for its ready line."""
        self._log_file.parent.mkdir(parents=True, exist_ok=True)
        began = time.monotonic()
        with self._log_file.open("wb") as log:
            self._process = subprocess.Popen(
                self._command, env=os.environ, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        while (ready := READY.search(self.log)) is None:
            if self._process.poll() is not None or time.monotonic() - began > START_S:
                self.kill()
                raise HttpFailed(f"ottla http did not start:\n{self.log}")
            time.sleep(0.01)
        self.start_seconds = time.monotonic() - began
        self.url = ready[1]
        return self

    def stop(self) -> int:
        """SIGTERM, and the exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        code = self._process.wait(20)
        self._process = None
        return code

    def kill(self) -> None:
        """SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)
            self._process = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._process is not None and self._process.poll() is None:
            self.stop()
        _, found, trace = self.log.partition("Traceback (most recent call last)")
        assert not found, f"the service logged a traceback:\n{trace[:4000]}"


class Rest:
    """A client of the service; paths may begin with the cluster, as `c/topics`."""

    def __init__(self, service: HttpService) -> None:
        self.service = service
        self.http = httpx.Client(base_url=service.url, timeout=20)
        self.cluster_id: str = self.http.get("/v3/clusters").json()["data"][0]["cluster_id"]

    def path(self, path: str) -> str:
        """The path with the cluster's id."""
        return f"/v3/clusters/{self.cluster_id}/{path[2:]}" if path.startswith("c/") else path

    def ask(self, method: str, path: str, json: Any = None, **more: Any) -> httpx.Response:
        """Send a request."""
        if json is not None:
            more["json"] = json
        return self.http.request(method, self.path(path), **more)

    def ok(self, method: str, path: str, json: Any = None, **more: Any) -> Any:
        """The JSON of an answer that must be a success."""
        found = self.ask(method, path, json, **more)
        assert found.is_success, (found.status_code, found.text)
        return found.json() if found.content else None

    def get(self, path: str, **query: Any) -> Any:
        """What lies there."""
        return self.ok("GET", path, params=query)

    def refused(self, method: str, path: str, json: Any = None, **more: Any) -> tuple[int, Any]:
        """The status and the JSON of an answer that must be none."""
        found = self.ask(method, path, json, **more)
        assert found.is_error, (found.status_code, found.text)
        assert "Traceback" not in found.text
        assert "site-packages" not in found.text
        return found.status_code, found.json()

    def close(self) -> None:
        """Close its connections."""
        self.http.close()

"""REST and the console beside what `ottla up` starts: a process of its own, which ends with it."""

from __future__ import annotations

import argparse
import os
import select
import subprocess
import sys
from typing import Final

_PREFIX: Final = "ottla.http."
_OF_THE_BROKER: Final = "ottla.http.listener"
_ENABLED: Final = "ottla.http.enabled"
_LISTENERS: Final = "ottla.http.listeners"
_PORT: Final = 8082
_BROKER_PORT: Final = 9092
_READY: Final = "ottla http ready on "
_READY_S: Final = 10.0
_STOP_S: Final = 10.0


class HttpBeside:
    """The process; its settings are taken out of those of the command."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        own = [each for each in arguments.assignments if _is_own(each)]
        arguments.assignments = [each for each in arguments.assignments if each not in own]
        said = dict(each.split("=", 1) for each in own)
        enabled = said.get(_ENABLED, os.environ.get("OTTLA_HTTP_ENABLED", "true"))
        self.enabled = enabled.strip().lower() != "false"
        self.options = [part for each in own for part in ("--set", each)]
        if _LISTENERS not in said and "OTTLA_HTTP_LISTENERS" not in os.environ:
            self.options += ["--listen", f"localhost:{_port_beside(arguments.port)}"]
        self._process: subprocess.Popen[str] | None = None

    def start(self, bootstrap: str) -> None:
        """Start it in front of these brokers, unless it is not wanted."""
        if not self.enabled:
            return
        command = [sys.executable, "-m", "ottla", "http", "-b", bootstrap, "--with-parent"]
        # Its messages go where ours go; Ctrl-C is for us: we stop it when the brokers have stopped.
        self._process = subprocess.Popen(
            [*command, *self.options, "--set", "ottla.http.log.level=warning"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def url(self) -> str | None:
        """Where it serves, once it does; None if it does not, which it has said itself."""
        if self._process is None or self._process.stdout is None:
            return None
        if not select.select([self._process.stdout], [], [], _READY_S)[0]:
            return None
        line = self._process.stdout.readline()
        return line.removeprefix(_READY).strip() or None

    def stop(self) -> None:
        """End it; it ends by itself, too, when this process is no more."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


def _is_own(assignment: str) -> bool:
    name = assignment.partition("=")[0].strip()
    return name.startswith(_PREFIX) and name != _OF_THE_BROKER and "=" in assignment


def _port_beside(port: int | None) -> int:
    """8082 beside 9092, as far away from other ports, and any free one beside any free one."""
    if port is None or not port:
        return _PORT if port is None else 0
    return port - _BROKER_PORT + _PORT if port > _BROKER_PORT - _PORT else 0

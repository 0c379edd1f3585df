"""The load: programs of their own, so that their work never counts as the broker's."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

TIMEOUT_SECONDS = 300.0


class ClientFailed(Exception):
    """A client program ended with an error."""


@contextmanager
def running_client(program: str, spec: Mapping[str, Any]) -> Iterator[subprocess.Popen[str]]:
    """Runs `benchmarks.clients.<program>`, its task as one JSON argument, within a context."""
    with running_command(
        [sys.executable, "-m", f"benchmarks.clients.{program}", json.dumps(spec)]
    ) as process:
        yield process


@contextmanager
def running_command(command: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    """Runs a client program in any language within a context."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def finish_client(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Waits for a client and returns what it measured: the last line it printed, as JSON."""
    try:
        out, errors = process.communicate(timeout=TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        out, errors = process.communicate()
    if process.returncode != 0 or not out.strip():
        raise ClientFailed(f"the client ended with {process.returncode}:\n{errors[-3000:]}")
    result: dict[str, Any] = json.loads(out.splitlines()[-1])
    return result


def run_client(program: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    """Runs a client program to its end."""
    with running_client(program, spec) as process:
        return finish_client(process)

"""kafka-server-stop: has the brokers of this user that run on this machine shut down cleanly."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from ottla.cli.kafka.command import complain, guarded
from ottla.cli.kafka.connect import read_properties
from ottla.cli.kafka.options import Failed
from ottla.cli.kafka.server_processes import BrokerProcess, broker_processes

_USAGE: Final = "USAGE: kafka-server-stop [--process-role=broker] [--node-id=ID]"
_ID_SETTINGS: Final = ("node.id", "broker.id")


def main(argv: Sequence[str] | None = None) -> int:
    """Run kafka-server-stop; the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    return guarded(lambda: _stop(words))


def _stop(words: Sequence[str]) -> int:
    node_id = _node_id(words)
    chosen = [each for each in broker_processes() if node_id is None or _id(each) == node_id]
    if not chosen:
        complain("No kafka server to stop")
        return 1
    number = _signal()
    for process in chosen:
        with suppress(ProcessLookupError):
            os.kill(process.pid, number)
    return 0


def _node_id(words: Sequence[str]) -> str | None:
    """The id that was asked for; None for any."""
    rest, found = list(words), None
    while rest:
        name, assigned, value = rest.pop(0).partition("=")
        if not assigned and rest:
            value = rest.pop(0)
        if name == "--node-id" and value.isdecimal():
            found = value
        elif name == "--process-role" and value in ("broker", "controller"):
            continue  # every broker of ottla may be the controller, too
        else:
            raise Failed(f"{name} {value} is not understood. {_USAGE}")
    return found


def _id(process: BrokerProcess) -> str | None:
    """The id that a broker was started with, as far as its command line and its file tell."""
    settings: dict[str, str] = {}
    if process.properties is not None:
        with suppress(OSError, Failed):
            settings |= read_properties(str(Path(process.directory) / process.properties))
    settings |= process.settings
    return next((settings[name] for name in _ID_SETTINGS if name in settings), None)


def _signal() -> signal.Signals:
    """TERM, unless the environment asks for another, as Kafka's script allows."""
    name = os.environ.get("SIGNAL", "TERM")
    try:
        return signal.Signals[f"SIG{name.removeprefix('SIG')}"]
    except KeyError:
        raise Failed(f"SIGNAL={name}: there is no such signal") from None

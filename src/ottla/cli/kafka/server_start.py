"""kafka-server-start: runs a broker from a server.properties, in the foreground or behind."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ottla.cli.kafka.command import KAFKA_VERSION, complain, guarded
from ottla.cli.kafka.options import Failed

_USAGE: Final = "USAGE: kafka-server-start [-daemon] server.properties [--override property=value]*"
_OUTPUT: Final = "kafkaServer.out"


class Start(NamedTuple):
    """What to start."""

    properties: str
    overrides: tuple[str, ...]
    behind: bool


def main(argv: Sequence[str] | None = None) -> int:
    """Run kafka-server-start; the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if "--version" in words:
        print(KAFKA_VERSION)
        return 0
    if not words or "--help" in words:
        complain(_USAGE)
        return 1
    return guarded(lambda: _run(read_arguments(words)))


def read_arguments(words: Sequence[str]) -> Start:
    """What a person typed, in the order that Kafka's script wants."""
    rest = list(words)
    behind = rest[0] == "-daemon"
    if behind:
        rest.pop(0)
    if not rest or rest[0].startswith("-"):
        raise Failed(f"Name the properties file first. {_USAGE}")
    properties, overrides = rest.pop(0), []
    while rest:
        word = rest.pop(0)
        name, assigned, value = word.partition("=")
        if name != "--override":
            raise Failed(f"Found non argument parameters: {word}. {_USAGE}")
        pair = value if assigned else (rest.pop(0) if rest else "")
        if "=" not in pair:
            raise Failed(f"--override wants property=value, not '{pair}'. {_USAGE}")
        overrides.append(pair)
    return Start(properties, tuple(overrides), behind)


def _run(start: Start) -> int:
    if start.behind:
        return _run_behind(start)
    from ottla.cli.serving import print_ready, serve
    from ottla.config.load import load

    settings = load(start.properties, dict(os.environ), list(start.overrides))
    return serve(settings, print_ready)


def _run_behind(start: Start) -> int:
    """Kafka's script starts the same without a terminal, and writes what it says to a file."""
    directory = Path(os.environ.get("LOG_DIR", "logs"))
    directory.mkdir(parents=True, exist_ok=True)
    line = [sys.executable, "-m", "ottla", "broker", str(Path(start.properties).absolute())]
    for pair in start.overrides:
        line += ["--set", pair]
    with (directory / _OUTPUT).open("ab") as output:
        subprocess.Popen(
            line,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    return 0

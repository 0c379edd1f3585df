"""zookeeper-server-start: runs a ZooKeeper server, in place of this process or beside it.

Differs from Apache Kafka: the jars are those that this machine has (`ottla.node.zookeeper_jars`).
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ottla.cli.kafka.command import complain, guarded

_USAGE: Final = "USAGE: zookeeper-server-start [-daemon] zookeeper.properties"
_HEAP: Final = "-Xmx512M -Xms512M"
_SETTINGS: Final = (
    "-XX:+UseSerialGC",
    "-Djava.awt.headless=true",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
)
MARK: Final = "-Dottla.started.by=zookeeper-server-start"
"""Lets zookeeper-server-stop tell these servers from all others."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run zookeeper-server-start; the exit code."""
    words = sys.argv[1:] if argv is None else list(argv)
    daemon = words[:1] == ["-daemon"]
    files = words[1:] if daemon else words
    if len(files) != 1 or files[0].startswith("-"):
        complain(_USAGE)
        return 1
    return guarded(lambda: _start(files[0], daemon))


def _start(file: str, daemon: bool) -> int:
    with open(file):  # refused here, in a sentence, and not by Java in twenty lines
        command = _command(str(Path(file).resolve()))
    if not daemon:
        sys.stdout.flush()
        os.execv(command[0], command)  # signals reach the server itself
    directory = Path(os.environ.get("LOG_DIR", "."))
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "zookeeper.out").open("wb") as output:
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    return 0


def _command(file: str) -> list[str]:
    from ottla.node.ensemble import MAIN_CLASS
    from ottla.node.zookeeper_jars import find_classpath, find_java

    heap = os.environ.get("KAFKA_HEAP_OPTS", _HEAP).split()
    more = os.environ.get("KAFKA_OPTS", "").split()
    classpath = ["-cp", find_classpath()]
    return [find_java(), *heap, *_SETTINGS, MARK, *more, *classpath, MAIN_CLASS, file]

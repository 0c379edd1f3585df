"""zookeeper-server-start: runs a ZooKeeper server, in place of this process or beside it.

Differs from Apache Kafka: the jars are those that this machine has (`ottla.node.zookeeper_jars`).
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
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
    # Else a server with log4j beside it prints a line of debugging about itself.
    "-Dzookeeper.jmx.log4j.disable=true",
)
_LOOK_S: Final = 0.1
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
    with open(file, "rb") as properties:  # refused here in a sentence, not by Java in twenty lines
        address = _client_address(properties.read().decode("latin-1"))
    command = _command(str(Path(file).resolve()))
    if not daemon:
        sys.stdout.flush()
        if address is not None and not _listens(address):
            _tell_when_ready(os.getpid(), address)
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
    if address is not None:
        print(f"ZooKeeper starts on {address[0]}:{address[1]}; it writes to {output.name}")
    return 0


def _client_address(properties: str) -> tuple[str, int] | None:
    """Where clients connect from this machine; None where the file leaves that to another one."""
    from ottla.config.properties import parse_properties

    settings = parse_properties(properties)
    port = settings.get("clientPort", "").strip()
    host = settings.get("clientPortAddress", "").strip()
    everywhere = host in ("", "0.0.0.0", "::")
    return ("localhost" if everywhere else host, int(port)) if port.isdecimal() else None


def _tell_when_ready(server: int, address: tuple[str, int]) -> None:
    """Leave a process behind that says so once the server listens, and ends with it if it never does.

    This process becomes the server, so that signals reach it. A child of a child is nobody's zombie.
    """
    first = os.fork()
    if first:
        os.waitpid(first, 0)
        return
    if os.fork() == 0:
        while _is_running(server):
            if _listens(address):
                print(f"ZooKeeper ready on {address[0]}:{address[1]}", flush=True)
                break
            time.sleep(_LOOK_S)
    os._exit(0)


def _listens(address: tuple[str, int]) -> bool:
    try:
        socket.create_connection(address, timeout=1).close()
    except OSError:
        return False
    return True


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def _command(file: str) -> list[str]:
    from ottla.node.ensemble import MAIN_CLASS
    from ottla.node.zookeeper_jars import find_classpath, find_java

    heap = os.environ.get("KAFKA_HEAP_OPTS", _HEAP).split()
    more = os.environ.get("KAFKA_OPTS", "").split()
    classpath = ["-cp", find_classpath()]
    return [find_java(), *heap, *_SETTINGS, MARK, *more, *classpath, MAIN_CLASS, file]

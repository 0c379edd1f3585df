"""zookeeper-server-stop: ends the ZooKeeper servers that zookeeper-server-start has started for this user.

Differs from Apache Kafka: other ZooKeeper servers are left alone, those of `ottla up` among them; with the properties
file of a server as its argument it ends that one only.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from ottla.cli.kafka.command import complain, guarded
from ottla.cli.kafka.zookeeper_server_start import MARK

_USAGE: Final = "USAGE: zookeeper-server-stop [zookeeper.properties]"
_PROCESSES: Final = Path("/proc")


def main(argv: Sequence[str] | None = None) -> int:
    """Run zookeeper-server-stop; the exit code."""
    words = sys.argv[1:] if argv is None else list(argv)
    if len(words) > 1 or any(word.startswith("-") for word in words):
        complain(_USAGE)
        return 1
    return guarded(lambda: _stop(words[0] if words else None))


def _stop(file: str | None) -> int:
    found = list(servers(os.getuid(), None if file is None else str(Path(file).resolve())))
    if not found:
        print("No zookeeper server to stop")
        return 1
    for pid in found:
        os.kill(pid, signal.SIGTERM)
    return 0


def servers(user_id: int, file: str | None, processes: Path = _PROCESSES) -> Iterator[int]:
    """The process ids of a user's servers, or of the one that was started with that file."""
    for directory in processes.iterdir():
        try:
            if not directory.name.isdecimal() or directory.stat().st_uid != user_id:
                continue
            words = (directory / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:  # it has just ended
            continue
        if MARK in words and file in (None, words[-2]):
            yield int(directory.name)

"""Finds the processes of this user that are brokers of ottla."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

_PROC: Final = Path("/proc")
_STARTERS: Final = ("kafka-server-start", "kafka-server-start.sh")
_WITH_VALUE: Final = ("-X", "-W")
_SET: Final = ("--set", "--override")


class BrokerProcess(NamedTuple):
    """A broker, and what its command line says."""

    pid: int
    directory: str
    properties: str | None
    settings: dict[str, str]


def broker_processes() -> list[BrokerProcess]:
    """Every broker of this user, without the processes that brokers start."""
    found = {}
    for entry in _PROC.iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):  # gone, or somebody else's
                if entry.stat().st_uid == os.getuid():
                    process = _read(entry)
                    if process is not None:
                        found[process.pid] = process
    return [process for pid, process in sorted(found.items()) if _parent(pid) not in found]


def _read(entry: Path) -> BrokerProcess | None:
    words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
    arguments = broker_arguments(words)
    if arguments is None:
        return None
    properties, settings = read_arguments(arguments)
    return BrokerProcess(int(entry.name), os.readlink(entry / "cwd"), properties, settings)


def broker_arguments(words: Sequence[str]) -> list[str] | None:
    """What follows the command in the command line of a broker; None if it is another program's."""
    if not words or not Path(words[0]).name.startswith("python"):
        return None
    rest = list(words[1:])
    while rest and rest[0].startswith("-") and rest[0] != "-m":  # options of Python itself
        del rest[: 2 if rest[0] in _WITH_VALUE else 1]
    if rest[:2] == ["-m", "ottla"]:
        rest = rest[1:]
    if not rest:
        return None
    program = Path(rest[0]).name
    if program in _STARTERS:
        return [word for word in rest[1:] if word != "-daemon"]
    if program == "ottla" and rest[1:2] in (["broker"], ["up"]):
        return rest[2:]
    return None


def read_arguments(arguments: Sequence[str]) -> tuple[str | None, dict[str, str]]:
    """The properties file and the settings in a broker's arguments."""
    rest, properties, settings = list(arguments), None, {}
    while rest:
        word = rest.pop(0)
        name, assigned, value = word.partition("=")
        if name in _SET:
            pair = value if assigned else (rest.pop(0) if rest else "")
            setting, _, text = pair.partition("=")
            settings[setting] = text
        elif word.startswith("-"):
            if not assigned and rest:
                rest.pop(0)
        elif properties is None:
            properties = word
    return properties, settings


def _parent(pid: int) -> int:
    with suppress(OSError, IndexError, ValueError):
        # The name of the program, in brackets, may itself contain blanks and brackets.
        return int((_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[1])
    return 0

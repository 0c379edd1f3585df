"""Pure: the line to type in place of one that a command does not take; every option in it is the command's own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ottla.cli.kafka.options import Command, Option

FORMER_NAMES: Final = {
    "broker-list": "bootstrap-server",
    "bootstrap-servers": "bootstrap-server",
    "bootstrap_server": "bootstrap-server",
    "whitelist": "include",
    "admin.config": "command-config",
}
"""What an option was called before, or is called elsewhere."""

ZOOKEEPER: Final = "zookeeper"
_DEFAULT_PORT: Final = 9092
_OF_THE_OTHER_SIDE: Final = ("producer", "consumer")
_ALIKE: Final = 0.6


def repaired(command: Command, argv: Sequence[str]) -> list[str]:
    """Return the words with former and misspelt options renamed, and without those that the command lacks."""
    words, kept = list(argv), list[str]()
    while words:
        word = words.pop(0)
        name, assigned, value = word.lstrip("-").partition("=")
        if not word.startswith("-"):
            continue  # it belongs to no option
        row = _row(command, name, argv)
        takes_value = bool(row.value) if row else bool(words) and not words[0].startswith("-")
        values = [value] if assigned else [words.pop(0)] if takes_value and words else []
        if row is None:
            continue
        if name == ZOOKEEPER:
            values = [broker_at(values[0] if values else "")]
        shown = word.partition("=")[0] if row.name == name else f"--{row.name}"
        kept += [shown, *values] if row.value else [shown]
    return kept


def settings_line(words: Sequence[str]) -> list[str] | None:
    """Return the kafka-configs line for a repaired kafka-topics line that changes settings, else None.

    `--alter --config` was how topics got settings in the days of --zookeeper; kafka-topics refuses it now.
    """
    if "--alter" not in words or not is_given("config", words):
        return None
    brokers, topics, changes = (
        [*_values(name, words)] for name in ("bootstrap-server", "topic", "config")
    )
    line = [
        "kafka-configs",
        "--bootstrap-server",
        *brokers[:1],
        "--alter",
        "--entity-type",
        "topics",
    ]
    return [*line, "--entity-name", *topics[:1], "--add-config", ",".join(changes)]


def _values(name: str, words: Sequence[str]) -> Iterator[str]:
    for index, word in enumerate(words):
        if word == f"--{name}":
            yield from words[index + 1 : index + 2]
        elif word.startswith(f"--{name}="):
            yield word.partition("=")[2]


def likeness(command: Command, name: str) -> Option | None:
    """Return the option that is most probably meant; never one that is deprecated, or of the other side."""
    from difflib import get_close_matches  # only those who mistype wait for it

    if name.startswith(_OF_THE_OTHER_SIDE):
        # A setting of producers means nothing to a consumer, whatever the option is called.
        return None
    known = {row.name: row for row in command.options if not _is_deprecated(row)}
    known |= {old: known[new] for old, new in FORMER_NAMES.items() if new in known}
    nearest = get_close_matches(name, known, 1, _ALIKE)
    return known[nearest[0]] if nearest else None


def broker_at(connect: str) -> str:
    """Return where a broker may be, as it usually is beside the first server of a ZooKeeper connect string."""
    host = connect.partition("/")[0].partition(",")[0].rpartition(":")[0] or "localhost"
    return f"{host}:{_DEFAULT_PORT}"


def is_given(name: str, argv: Sequence[str]) -> bool:
    """Whether an option is among the words, under this very name."""
    return any(word.partition("=")[0] == f"--{name}" for word in argv)


def _row(command: Command, name: str, argv: Sequence[str]) -> Option | None:
    own = command.option(name)
    if own is not None:
        return own
    former = "bootstrap-server" if name == ZOOKEEPER else FORMER_NAMES.get(name, "")
    row = command.option(former) or (None if former else likeness(command, name))
    return None if row is None or is_given(row.name, argv) else row


def _is_deprecated(row: Option) -> bool:
    return isinstance(row.help, str) and row.help.startswith("(DEPRECATED)")

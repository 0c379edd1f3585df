"""Old and misspelt options: taken where the meaning is plain, else answered with what to type."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.cli.kafka.options import Command, Failed, Option, OptionError
from ottla.cli.kafka.repairs import (
    FORMER_NAMES,
    ZOOKEEPER,
    is_given,
    likeness,
    repaired,
    settings_line,
)

GONE = frozenset(("new-consumer", "force", "disable-rack-aware"))


class Habits:
    """What to make of the options that a command does not know."""

    def __init__(self, command: Command, argv: Sequence[str]) -> None:
        self._command = command
        self._argv = argv
        self.notes: list[str] = []

    def find(self, name: str) -> Option | None:
        """The row that is meant; None if the option may be ignored."""
        row = self._command.option(FORMER_NAMES.get(name, ""))
        if row is not None and self._has(row.name):
            self.notes.append(f"--{name} is ignored, since --{row.name} is given.")
            return None
        if row is not None:
            self.notes.append(f"--{name} is taken as --{row.name}.")
            return row
        if name == ZOOKEEPER:
            self._zookeeper()
            return None
        if name in GONE:
            self.notes.append(f"--{name} is no longer needed and is ignored.")
            return None
        raise OptionError(f"{name} is not a recognized option{self._suggestion(name)}")

    def leftover(self, word: str) -> None:
        """A word that belongs to no option: Kafka ignores it silently, which surprises people."""
        meant = f"; did you mean --{word}?" if self._command.option(word) else ""
        self.notes.append(f"'{word}' belongs to no option and is ignored{meant or '.'}")

    def _zookeeper(self) -> None:
        if self._has("bootstrap-server"):
            self.notes.append("--zookeeper is ignored: commands ask the brokers.")
            return
        raise Failed(
            f"--zookeeper is no longer an option: commands ask a broker. Try: {self._line()}"
        )

    def _has(self, name: str) -> bool:
        return is_given(name, self._argv)

    def _suggestion(self, name: str) -> str:
        row = likeness(self._command, name)
        if row is None or self._has(row.name):
            return ""
        return f"; did you mean --{row.name}? Try: {self._line()}"

    def _line(self) -> str:
        """The line that this command takes."""
        from shlex import join

        words = repaired(self._command, self._argv)
        changes = settings_line(words) if self._command.name == "kafka-topics" else None
        return join(changes or [self._command.name, *words])

"""Old and misspelt options: taken where the meaning is plain, else answered with what to type."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.cli.kafka.options import Command, Failed, Option, OptionError

# What an option was called before, or is called elsewhere.
FORMER_NAMES = {
    "broker-list": "bootstrap-server",
    "bootstrap-servers": "bootstrap-server",
    "bootstrap_server": "bootstrap-server",
    "whitelist": "include",
    "admin.config": "command-config",
}
GONE = frozenset(("new-consumer", "force", "disable-rack-aware"))
ZOOKEEPER = "zookeeper"
_DEFAULT_PORT = 9092


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
        words = list(self._argv)
        at = next(n for n, word in enumerate(words) if word.lstrip("-").startswith(ZOOKEEPER))
        inline = "=" in words[at]
        old = words[at].partition("=")[2] if inline else "".join(words[at + 1 : at + 2])
        host = old.partition("/")[0].partition(",")[0].rpartition(":")[0] or "localhost"
        words[at : at + (1 if inline else 2)] = ["--bootstrap-server", f"{host}:{_DEFAULT_PORT}"]
        raise Failed(
            f"--zookeeper is no longer an option: commands ask a broker. Try: {self._line(words)}"
        )

    def _has(self, name: str) -> bool:
        return any(word.partition("=")[0] == f"--{name}" for word in self._argv)

    def _suggestion(self, name: str) -> str:
        from difflib import get_close_matches  # only those who mistype wait for it

        known = [row.name for row in self._command.options]
        nearest = get_close_matches(name, known, 1, 0.6)
        if not nearest:
            return ""
        wrong = f"--{name}"
        words = [
            word.replace(wrong, f"--{nearest[0]}", 1) if word.split("=")[0] == wrong else word
            for word in self._argv
        ]
        return f"; did you mean --{nearest[0]}? Try: {self._line(words)}"

    def _line(self, words: Sequence[str]) -> str:
        from shlex import join

        return join([self._command.name, *words])

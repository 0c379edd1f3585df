"""Pure: the options of a command, read in the manner of Kafka's tools.

Names are exact (Kafka switches abbreviations off): `--name value`, `--name=value`, `-name value`.
The word behind an option that takes a value is its value, whatever it looks like (`--time -1`).
Values are converted when they are asked for, so a bad number is refused by what needed it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ottla.base.errors import OttlaError

_INT32 = 1 << 31
_INT64 = 1 << 63


class OptionError(OttlaError):
    """An option that cannot be understood."""


class UsageError(OttlaError):
    """Options that do not make a command; the help follows the message."""


class Failed(OttlaError):
    """The command cannot do what was asked; the message says why."""


class Option(NamedTuple):
    """One row of a command's table."""

    name: str
    help: str | Callable[[], str]
    value: str = ""
    """What the value is called in the help, `String: topic`; empty for a flag."""
    value_may_be_missing: bool = False


class Command(NamedTuple):
    """What a command is called, what it is for, and what it can be told."""

    name: str
    summary: str
    options: tuple[Option, ...]

    def option(self, name: str) -> Option | None:
        """The row of an option, by its name without dashes."""
        return next((row for row in self.options if row.name == name), None)


class Given:
    """What a person typed: options with their values, and words that belong to none."""

    __slots__ = ("_values", "words")

    def __init__(self) -> None:
        self._values: dict[str, list[str]] = {}
        self.words: list[str] = []

    def add(self, name: str, value: str | None) -> None:
        """Note an option; a flag has no value."""
        values = self._values.setdefault(name, [])
        if value is not None:
            values.append(value)

    def has(self, name: str) -> bool:
        """Whether an option was given."""
        return name in self._values

    def values(self, name: str) -> list[str]:
        """All values of an option that may be repeated."""
        return self._values.get(name, [])

    def value(self, name: str) -> str | None:
        """The only value of an option, None if it was not given."""
        values = self.values(name)
        if len(values) > 1:
            raise OptionError(
                f"Found multiple arguments for option {name}, but you asked for only one"
            )
        return values[0] if values else None

    def number(self, name: str, bound: int = _INT32) -> int | None:
        """The only value of an option as a number of 32 bits."""
        text = self.value(name)
        if text is None:
            return None
        try:
            number = int(text)
        except ValueError:
            number = bound
        if not -bound <= number < bound or text != text.strip() or "_" in text:
            raise OptionError(f"Cannot parse argument '{text}' of option {name}")
        return number

    def long_number(self, name: str) -> int | None:
        """The only value of an option as a number of 64 bits."""
        return self.number(name, _INT64)

    def require(self, *names: str) -> None:
        """Refuse a command that lacks an option."""
        for name in names:
            if name not in self._values:
                raise UsageError(f'Missing required argument "[{name}]"')

    def exclude(self, used: str, others: Iterable[str]) -> None:
        """Refuse an option that makes no sense beside one of the others."""
        if used not in self._values:
            return
        for name in others:
            if name in self._values:
                raise UsageError(f'Option "[{used}]" can\'t be used with option "[{name}]"')

    def allow_only_with(self, used: str, actions: Iterable[str], allowed: Iterable[str]) -> None:
        """Refuse an option beside an action that it does not belong to."""
        self.exclude(used, [name for name in actions if name not in allowed])


def parse(command: Command, argv: Sequence[str], unknown: Callable[[str], Option | None]) -> Given:
    """Read the arguments; `unknown` may find a row for a name that the table lacks, or raise."""
    given = Given()
    words = list(argv)
    while words:
        word = words.pop(0)
        if word == "--":
            given.words.extend(words)
            break
        name, assigned, value = word.lstrip("-").partition("=")
        if not _looks_like_an_option(command, word, name):
            given.words.append(word)
            continue
        row = command.option(name) or unknown(name)
        if row is not None:
            given.add(row.name, value if assigned and row.value else _next_value(row, words))
        elif words and not assigned and not words[0].startswith("-"):
            words.pop(0)  # the value of an option that is ignored
    return given


def _looks_like_an_option(command: Command, word: str, name: str) -> bool:
    if word.startswith("--"):
        return True
    return word.startswith("-") and command.option(name) is not None


def _next_value(row: Option, words: list[str]) -> str | None:
    if not row.value:
        return None
    if row.value_may_be_missing and (not words or words[0].startswith("-")):
        return None
    if not words:
        raise OptionError(f"Option {row.name} requires an argument")
    return words.pop(0)

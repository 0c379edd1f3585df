"""Pure: the table of a component's settings, and what a configuration says in it.

The sentences of errors are Kafka's, since people search for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from ottla.connect.errors import ConfigInvalid

Check = Callable[[str, Any], str | None]
"""Returns what is wrong with a value of the setting of that name; None if nothing is."""


class Kind(StrEnum):
    """Types of settings, under Kafka's names."""

    STRING = "STRING"
    INT = "INT"
    SHORT = "SHORT"
    LONG = "LONG"
    DOUBLE = "DOUBLE"
    BOOLEAN = "BOOLEAN"
    LIST = "LIST"
    CLASS = "CLASS"
    PASSWORD = "PASSWORD"


class Importance(StrEnum):
    """How much a setting matters to somebody who reads the table for the first time."""

    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


class _Required:
    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED: Final = _Required()
"""The default of a setting without one."""
HIDDEN: Final = "[hidden]"


@dataclass(frozen=True, kw_only=True)
class Option:
    """One setting."""

    name: str
    kind: Kind
    doc: str
    default: Any = REQUIRED
    importance: Importance = Importance.MEDIUM
    check: Check | None = None
    group: str | None = None
    width: str = "NONE"
    display_name: str | None = None
    dependents: Sequence[str] = ()
    recommended: Sequence[Any] = ()

    @property
    def is_required(self) -> bool:
        """True if there is no default."""
        return self.default is REQUIRED


@dataclass(frozen=True)
class Options:
    """The settings of one component, in the order in which they are shown."""

    rows: tuple[Option, ...]
    by_name: Mapping[str, Option] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {row.name: row for row in self.rows})

    def parse(self, given: Mapping[str, str | None]) -> dict[str, Any]:
        """Return every setting's value; raise ConfigInvalid with all that is wrong."""
        problems = self.problems(given)
        if problems:
            raise ConfigInvalid(problems)
        return {row.name: self.value(row, given) for row in self.rows}

    def value(self, row: Option, given: Mapping[str, str | None]) -> Any:
        """Return the value of one setting whose text is known to be right."""
        text = given.get(row.name)
        return row.default if text is None else convert(row, text)

    def problems(self, given: Mapping[str, str | None]) -> dict[str, list[str]]:
        """Return what is wrong, by setting."""
        found = {row.name: problem for row in self.rows if (problem := _problem(row, given))}
        return {name: [problem] for name, problem in found.items()}


def _problem(row: Option, given: Mapping[str, str | None]) -> str | None:
    text = given.get(row.name)
    if text is None and row.is_required:
        return f'Missing required configuration "{row.name}" which has no default value.'
    try:
        value = row.default if text is None else convert(row, text)
    except ValueError as wrong:
        shown = HIDDEN if row.kind is Kind.PASSWORD else text
        return f"Invalid value {shown} for configuration {row.name}: {wrong}"
    wrong_value = None if row.check is None else row.check(row.name, value)
    if wrong_value is None:
        return None
    shown = HIDDEN if row.kind is Kind.PASSWORD else value
    return f"Invalid value {_shown(shown)} for configuration {row.name}: {wrong_value}"


_BITS: Final = {Kind.SHORT: 16, Kind.INT: 32, Kind.LONG: 64}
_BOOLEANS: Final = {"true": True, "false": False}


def convert(row: Option, text: str) -> Any:
    """Return the value that a text stands for; ValueError with the reason if it stands for none."""
    if row.kind is Kind.PASSWORD:
        return text
    stripped = text.strip()
    if row.kind is Kind.BOOLEAN:
        if stripped.lower() not in _BOOLEANS:
            raise ValueError("Expected value to be either true or false")
        return _BOOLEANS[stripped.lower()]
    if row.kind in _BITS:
        return _integer(row.kind, stripped)
    if row.kind is Kind.DOUBLE:
        try:
            return float(stripped)
        except ValueError:
            raise ValueError(f"Not a number of type {row.kind}") from None
    if row.kind is Kind.LIST:
        return [each.strip() for each in stripped.split(",")] if stripped else []
    return stripped


def _integer(kind: Kind, text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise ValueError(f"Not a number of type {kind}") from None
    bits = _BITS[kind]
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise ValueError(f"Not a number of type {kind}")
    return value


def render(row: Option, value: Any) -> str | None:
    """Return a value as Kafka shows it; passwords are hidden."""
    if value is None or value is REQUIRED:
        return None
    if row.kind is Kind.PASSWORD:
        return HIDDEN
    return _shown(value)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value)


# --- checks


def one_of(*allowed: str) -> Check:
    """Allow these words, whatever their case."""
    upper = {each.upper() for each in allowed}

    def check(name: str, value: Any) -> str | None:
        if value is not None and str(value).upper() not in upper:
            return f"String must be one of: {', '.join(allowed)}"
        return None

    return check


def at_least(minimum: float) -> Check:
    """Allow numbers from a minimum on."""

    def check(name: str, value: Any) -> str | None:
        if value is not None and value < minimum:
            return f"Value must be at least {minimum}"
        return None

    return check


def between(minimum: float, maximum: float) -> Check:
    """Allow numbers within bounds, which belong to them."""

    def check(name: str, value: Any) -> str | None:
        if value is None:
            return None
        if value < minimum:
            return f"Value must be at least {minimum}"
        if value > maximum:
            return f"Value must be no more than {maximum}"
        return None

    return check


def non_empty(name: str, value: Any) -> str | None:
    """Refuse an empty text or list."""
    if value is not None and len(value) == 0:
        return "String must be non-empty" if isinstance(value, str) else "Empty list"
    return None

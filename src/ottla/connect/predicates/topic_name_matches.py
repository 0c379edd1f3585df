"""TopicNameMatches: true for records whose topic matches a regular expression as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ottla.connect.data.java_regex import compile_java
from ottla.connect.data.record import Record
from ottla.connect.options.table import Kind, Option, Options
from ottla.connect.predicates.predicate import Predicate


def _is_regex(name: str, value: Any) -> str | None:
    try:
        compile_java(value)
    except ValueError as wrong:
        return str(wrong)
    return None


class TopicNameMatches(Predicate):
    """Looks at the topic."""

    options = Options(
        (
            Option(
                name="pattern",
                kind=Kind.STRING,
                check=_is_regex,
                doc="A regular expression for whole names of topics.",
            ),
        )
    )

    def __init__(self, settings: Mapping[str, str | None]) -> None:
        super().__init__(settings)
        self._regex = compile_java(self.settings["pattern"])

    def test(self, record: Record) -> bool:
        """Return True if the topic's name matches."""
        return self._regex.fullmatch(record.topic) is not None

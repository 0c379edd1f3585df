"""RegexRouter: change the topic by a regular expression that matches all of its name."""

from __future__ import annotations

from typing import Any

from ottla.connect.data.java_regex import compile_java, expand
from ottla.connect.data.record import Record
from ottla.connect.options.table import Importance, Kind, Option, Options
from ottla.connect.transforms.transform import Transform


def _is_regex(name: str, value: Any) -> str | None:
    try:
        compile_java(value)
    except ValueError as wrong:
        return str(wrong)
    return None


class RegexRouter(Transform):
    """Routes; a topic that does not match stays."""

    options = Options(
        (
            Option(
                name="regex",
                kind=Kind.STRING,
                importance=Importance.HIGH,
                check=_is_regex,
                doc="A regular expression for whole names of topics.",
            ),
            Option(
                name="replacement",
                kind=Kind.STRING,
                importance=Importance.HIGH,
                doc="The new name, with $1 for the first group.",
            ),
        )
    )

    def configure(self) -> None:
        """Compile the expression."""
        self._regex = compile_java(self.settings["regex"])

    def apply(self, record: Record) -> Record:
        """Return the record with its topic changed."""
        found = self._regex.fullmatch(record.topic)
        if found is None:
            return record
        return record._replace(topic=expand(found, self.settings["replacement"]))

"""StringConverter: anything as text, and text as strings."""

from __future__ import annotations

from typing import Any

from ottla.connect.converters.converter import Converter
from ottla.connect.data.schema import OPTIONAL_STRING, Schema
from ottla.connect.data.values import as_text
from ottla.connect.errors import DataInvalid
from ottla.connect.options.table import Importance, Kind, Option, Options


class StringConverter(Converter):
    """Converts text."""

    options = Options(
        (
            Option(
                name="converter.encoding",
                kind=Kind.STRING,
                default="UTF-8",
                importance=Importance.HIGH,
                doc="The encoding of the text.",
            ),
        )
    )

    def to_bytes(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        """Return the text of a value."""
        text = as_text(value, schema)
        return None if text is None else text.encode(self.settings["converter.encoding"], "replace")

    def from_bytes(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        """Return the string that bytes are the text of."""
        if data is None:
            return OPTIONAL_STRING, None
        try:
            return OPTIONAL_STRING, data.decode(self.settings["converter.encoding"], "replace")
        except LookupError:
            raise DataInvalid(
                f"no encoding named {self.settings['converter.encoding']!r}"
            ) from None

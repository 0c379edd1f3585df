"""InsertHeader: add one header with a fixed value."""

from __future__ import annotations

from ottla.connect.data.record import Header, Record
from ottla.connect.data.values import parse
from ottla.connect.options.table import Importance, Kind, Option, Options
from ottla.connect.transforms.transform import Transform


class InsertHeader(Transform):
    """Inserts a header whose type is read from the text: 5 is a number, true a boolean."""

    options = Options(
        (
            Option(name="header", kind=Kind.STRING, importance=Importance.HIGH, doc="The key."),
            Option(
                name="value.literal", kind=Kind.STRING, importance=Importance.HIGH, doc="The value."
            ),
        )
    )

    def configure(self) -> None:
        """Read the value."""
        self._header = Header(self.settings["header"], *parse(self.settings["value.literal"]))

    def apply(self, record: Record) -> Record:
        """Return the record with one more header."""
        return record._replace(headers=(*record.headers, self._header))

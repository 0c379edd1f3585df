"""HasHeaderKey: true for records with a header of that key."""

from __future__ import annotations

from ottla.connect.data.record import Record
from ottla.connect.options.table import Kind, Option, Options, non_empty
from ottla.connect.predicates.predicate import Predicate


class HasHeaderKey(Predicate):
    """Looks for a header."""

    options = Options(
        (Option(name="name", kind=Kind.STRING, check=non_empty, doc="Key of the header."),)
    )

    def test(self, record: Record) -> bool:
        """Return True if there is such a header."""
        return any(header.key == self.settings["name"] for header in record.headers)

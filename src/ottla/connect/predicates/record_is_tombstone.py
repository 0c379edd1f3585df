"""RecordIsTombstone: true for records without a value."""

from __future__ import annotations

from ottla.connect.data.record import Record
from ottla.connect.options.table import Options
from ottla.connect.predicates.predicate import Predicate


class RecordIsTombstone(Predicate):
    """Looks at the value."""

    options = Options(())

    def test(self, record: Record) -> bool:
        """Return True if the value is null."""
        return record.value is None

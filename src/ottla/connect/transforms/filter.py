"""Filter: drop every record; a predicate says which records come here."""

from __future__ import annotations

from ottla.connect.data.record import Record
from ottla.connect.options.table import Options
from ottla.connect.transforms.transform import Transform


class Filter(Transform):
    """Drops records."""

    options = Options(())

    def apply(self, record: Record) -> None:
        """Drop the record."""

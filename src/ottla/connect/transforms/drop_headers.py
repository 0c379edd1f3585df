"""DropHeaders: remove headers by their keys."""

from __future__ import annotations

from ottla.connect.data.record import Record
from ottla.connect.options.table import Importance, Kind, Option, Options, non_empty
from ottla.connect.transforms.transform import Transform


class DropHeaders(Transform):
    """Drops every header whose key is named."""

    options = Options(
        (
            Option(
                name="headers",
                kind=Kind.LIST,
                importance=Importance.HIGH,
                check=non_empty,
                doc="Keys of the headers to remove.",
            ),
        )
    )

    def configure(self) -> None:
        """Prepare the set of keys."""
        self._keys = frozenset(self.settings["headers"])

    def apply(self, record: Record) -> Record:
        """Return the record without these headers."""
        kept = tuple(header for header in record.headers if header.key not in self._keys)
        return record._replace(headers=kept)

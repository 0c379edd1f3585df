"""ExtractField: put one field in the place of the whole key or value."""

from __future__ import annotations

from ottla.connect.data.paths import look_up, path_of, schema_at
from ottla.connect.data.record import Record
from ottla.connect.errors import DataInvalid
from ottla.connect.options.table import Importance, Kind, Option, Options
from ottla.connect.transforms.settings import REPLACE_NULL, SYNTAX
from ottla.connect.transforms.transform import KeyOrValue, require_map, require_struct


class ExtractField(KeyOrValue):
    """Extracts a field; of null it makes null."""

    options = Options(
        (
            Option(
                name="field",
                kind=Kind.STRING,
                importance=Importance.MEDIUM,
                doc="Name or path of the field.",
            ),
            SYNTAX,
            REPLACE_NULL,
        )
    )

    def configure(self) -> None:
        """Read the path."""
        self._path = path_of(self.settings["field"], self.settings["field.syntax.version"])

    def apply(self, record: Record) -> Record:
        """Return the record with the field alone."""
        part, schema = self.part_of(record), self.schema_of(record)
        if schema is None:
            found = (
                None if part is None else look_up(require_map(part, "field extraction"), self._path)
            )
            return self.with_part(record, None, found)
        inner = schema_at(schema, self._path)
        if inner is None:
            raise DataInvalid(f"Unknown field: {self.settings['field']}")
        if part is None:
            return self.with_part(record, inner, None)
        given = require_struct(part, "field extraction")
        value = look_up(given, self._path, defaults=self.settings["replace.null.with.default"])
        return self.with_part(record, inner, value)

"""HoistField: wrap the key or value into a struct or map with one field."""

from __future__ import annotations

from ottla.connect.data.record import Record
from ottla.connect.data.schema import Struct, struct
from ottla.connect.options.table import Importance, Kind, Option, Options
from ottla.connect.transforms.transform import KeyOrValue


class HoistField(KeyOrValue):
    """Hoists."""

    options = Options(
        (
            Option(
                name="field",
                kind=Kind.STRING,
                importance=Importance.MEDIUM,
                doc="Name of the only field.",
            ),
        )
    )

    def apply(self, record: Record) -> Record:
        """Return the record with its key or value one level deeper."""
        name, schema = self.settings["field"], self.schema_of(record)
        if schema is None:
            return self.with_part(record, None, {name: self.part_of(record)})
        updated = struct({name: schema})
        return self.with_part(record, updated, Struct(updated, [self.part_of(record)]))

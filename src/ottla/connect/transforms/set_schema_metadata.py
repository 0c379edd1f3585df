"""SetSchemaMetadata: set name and version of the schema."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ottla.connect.data.record import Record
from ottla.connect.data.schema import Struct
from ottla.connect.errors import ConfigInvalid, DataInvalid
from ottla.connect.options.table import Importance, Kind, Option, Options
from ottla.connect.transforms.settings import REPLACE_NULL
from ottla.connect.transforms.transform import KeyOrValue


class SetSchemaMetadata(KeyOrValue):
    """Sets; a null without a schema stays as it is."""

    options = Options(
        (
            Option(
                name="schema.name",
                kind=Kind.STRING,
                default=None,
                importance=Importance.HIGH,
                doc="The name to set.",
            ),
            Option(
                name="schema.version",
                kind=Kind.INT,
                default=None,
                importance=Importance.HIGH,
                doc="The version to set.",
            ),
            REPLACE_NULL,
        )
    )

    def configure(self) -> None:
        """Refuse a configuration that sets nothing."""
        if self.settings["schema.name"] is None and self.settings["schema.version"] is None:
            raise ConfigInvalid({"schema.name": ["Neither schema name nor version configured"]})

    def apply(self, record: Record) -> Record:
        """Return the record with its schema renamed."""
        part, schema = self.part_of(record), self.schema_of(record)
        if part is None and schema is None:
            return record
        if schema is None:
            raise DataInvalid(
                f"Schema required for [updating schema metadata], found: {type(part).__name__}"
            )
        given: dict[str, Any] = {
            "name": self.settings["schema.name"],
            "version": self.settings["schema.version"],
        }
        updated = replace(schema, **{name: v for name, v in given.items() if v is not None})
        if isinstance(part, Struct):
            defaults = self.settings["replace.null.with.default"]
            values = [part[f.name] if defaults else raw for f, raw in part.items()]
            part = Struct(updated, values)
        return self.with_part(record, updated, part)

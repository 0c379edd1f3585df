"""HeaderFrom: copy or move fields into headers."""

from __future__ import annotations

from ottla.connect.data.record import Header, Record
from ottla.connect.data.schema import Struct, struct
from ottla.connect.errors import ConfigInvalid, DataInvalid
from ottla.connect.options.table import Importance, Kind, Option, Options, non_empty, one_of
from ottla.connect.transforms.settings import REPLACE_NULL
from ottla.connect.transforms.transform import KeyOrValue, require_map, require_struct


class HeaderFrom(KeyOrValue):
    """Makes a header of each field; a missing field makes a null, and with a schema it stops the record."""

    options = Options(
        (
            Option(
                name="fields",
                kind=Kind.LIST,
                importance=Importance.HIGH,
                check=non_empty,
                doc="Fields to copy or move.",
            ),
            Option(
                name="headers",
                kind=Kind.LIST,
                importance=Importance.HIGH,
                check=non_empty,
                doc="Keys of the headers, in the order of the fields.",
            ),
            Option(
                name="operation",
                kind=Kind.STRING,
                importance=Importance.HIGH,
                check=one_of("move", "copy"),
                doc="move takes the fields out of the record, copy leaves them.",
            ),
            REPLACE_NULL,
        )
    )

    def configure(self) -> None:
        """Pair fields with headers."""
        fields, headers = self.settings["fields"], self.settings["headers"]
        if len(fields) != len(headers):
            raise ConfigInvalid(
                {
                    "fields": [
                        "'fields' config must have the same number of elements as 'headers' config."
                    ]
                }
            )
        self._pairs = list(zip(fields, headers, strict=True))
        self._moves = self.settings["operation"].lower() == "move"

    def apply(self, record: Record) -> Record:
        """Return the record with more headers."""
        part, schema = self.part_of(record), self.schema_of(record)
        if schema is None:
            return self._without_schema(record, require_map(part, "header from"))
        given = require_struct(part, "header from")
        defaults = self.settings["replace.null.with.default"]
        added = []
        for name, key in self._pairs:
            field = schema.field(name)
            if field is None:
                raise DataInvalid(f"{name} is not a valid field name")
            value = given[name] if defaults else given.raw(name)
            added.append(Header(key, field.schema, value))
        record = record._replace(headers=(*record.headers, *added))
        if not self._moves:
            return record
        moved = {name for name, _ in self._pairs}
        kept = [field for field in schema.fields if field.name not in moved]
        updated = struct(iter([(field.name, field.schema) for field in kept]), like=schema)
        values = [given[f.name] if defaults else given.raw(f.name) for f in kept]
        return self.with_part(record, updated, Struct(updated, values))

    def _without_schema(self, record: Record, given: dict[object, object]) -> Record:
        added = [Header(key, None, given.get(name)) for name, key in self._pairs]
        record = record._replace(headers=(*record.headers, *added))
        if not self._moves:
            return record
        moved = {name for name, _ in self._pairs}
        kept = {name: value for name, value in given.items() if name not in moved}
        return self.with_part(record, None, kept)

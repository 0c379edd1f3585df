"""ValueToKey: make the key of fields of the value."""

from __future__ import annotations

from ottla.connect.data.record import Record
from ottla.connect.data.schema import Struct, struct
from ottla.connect.errors import DataInvalid
from ottla.connect.options.table import Importance, Kind, Option, Options, non_empty
from ottla.connect.transforms.settings import REPLACE_NULL
from ottla.connect.transforms.transform import Transform, require_map, require_struct


class ValueToKey(Transform):
    """Makes a new key."""

    options = Options(
        (
            Option(
                name="fields",
                kind=Kind.LIST,
                importance=Importance.HIGH,
                check=non_empty,
                doc="Fields of the value, in the order of the key.",
            ),
            REPLACE_NULL,
        )
    )

    def apply(self, record: Record) -> Record:
        """Return the record with another key."""
        names, purpose = self.settings["fields"], "copying fields from value to key"
        if record.value_schema is None:
            given = require_map(record.value, purpose)
            return record._replace(key_schema=None, key={name: given.get(name) for name in names})
        value = require_struct(record.value, purpose)
        fields = {}
        for name in names:
            field = value.schema.field(name)
            if field is None:
                raise DataInvalid(f"Field does not exist: {name}")
            fields[name] = field.schema
        schema = struct(fields)
        defaults = self.settings["replace.null.with.default"]
        values = [value[name] if defaults else value.raw(name) for name in names]
        return record._replace(key_schema=schema, key=Struct(schema, values))

"""Cast: change the type of fields, or of the whole key or value."""

from __future__ import annotations

from typing import Any

from ottla.connect.data.casts import TARGETS, cast
from ottla.connect.data.record import Record
from ottla.connect.data.schema import Schema, Struct, Type, struct
from ottla.connect.errors import ConfigInvalid
from ottla.connect.options.table import Importance, Kind, Option, Options, non_empty
from ottla.connect.transforms.settings import REPLACE_NULL
from ottla.connect.transforms.transform import KeyOrValue, require_map, require_struct

_SPEC = Option(
    name="spec",
    kind=Kind.LIST,
    importance=Importance.HIGH,
    check=non_empty,
    doc="field:type pairs such as amount:float64, or one type for the whole key or value.",
)


class Cast(KeyOrValue):
    """Casts; strings that are no numbers stop the record."""

    options = Options((_SPEC, REPLACE_NULL))

    def configure(self) -> None:
        """Read the pairs."""
        self._whole: Type | None = None
        self._casts: dict[str, Type] = {}
        for spec in self.settings["spec"]:
            name, colon, target = spec.rpartition(":")
            if target.strip().lower() not in TARGETS:
                raise _wrong(spec, f"Invalid type found in casting spec: {target.strip()}")
            if colon:
                self._casts[name.strip()] = TARGETS[target.strip().lower()]
            elif self._whole is not None:
                raise _wrong(spec, "Cast transform supports only one whole-value casting spec")
            else:
                self._whole = TARGETS[target.strip().lower()]
        if self._whole is not None and self._casts:
            raise _wrong(
                ",".join(self.settings["spec"]),
                "Cast transformations that specify a type to cast the entire value to may only cast a single value",
            )

    def apply(self, record: Record) -> Record:
        """Return the record with its fields cast."""
        part, schema = self.part_of(record), self.schema_of(record)
        if part is None:
            return record
        if self._whole is not None:
            target = None if schema is None else self._casted(schema, self._whole)
            return self.with_part(record, target, cast(part, schema, self._whole))
        if schema is None:
            given = require_map(part, "cast types")
            casted = {name: cast(given.get(name), None, kind) for name, kind in self._casts.items()}
            return self.with_part(record, None, given | casted)
        return self._with_schema(record, schema, require_struct(part, "cast types"))

    def _with_schema(self, record: Record, schema: Schema, given: Struct) -> Record:
        fields = {
            field.name: self._casted(field.schema, self._casts[field.name])
            if field.name in self._casts
            else field.schema
            for field in schema.fields
        }
        values: list[Any] = []
        for field, raw in given.items():
            value = given[field.name] if self.settings["replace.null.with.default"] else raw
            kind = self._casts.get(field.name)
            values.append(value if kind is None else cast(value, field.schema, kind))
        updated = struct(fields, like=schema)
        return self.with_part(record, updated, Struct(updated, values))

    def _casted(self, schema: Schema, target: Type) -> Schema:
        default = cast(schema.default, schema, target)
        return Schema(target, is_optional=schema.is_optional, default=default)


def _wrong(value: str, reason: str) -> ConfigInvalid:
    return ConfigInvalid({"spec": [f"Invalid value {value} for configuration spec: {reason}"]})

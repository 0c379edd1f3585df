"""Flatten: bring the fields of nested structs and maps up to the top, under joined names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ottla.connect.data.record import Record
from ottla.connect.data.schema import PRIMITIVES, Schema, Struct, Type, struct
from ottla.connect.errors import DataInvalid
from ottla.connect.options.table import Kind, Option, Options
from ottla.connect.transforms.transform import KeyOrValue, require_map, require_struct


class Flatten(KeyOrValue):
    """Flattens; arrays stay as they are."""

    options = Options(
        (
            Option(
                name="delimiter",
                kind=Kind.STRING,
                default=".",
                doc="What stands between the names of the levels.",
            ),
        )
    )

    def apply(self, record: Record) -> Record:
        """Return the record with one level of fields."""
        part, schema = self.part_of(record), self.schema_of(record)
        if part is None:
            return record
        if schema is None:
            flat = dict(self._flat(require_map(part, "flattening"), ""))
            return self.with_part(record, None, flat)
        given = require_struct(part, "flattening")
        updated = struct(
            self._fields(schema, "", is_optional=schema.is_optional, default=schema.default),
            like=schema,
            default=None,
        )
        return self.with_part(record, updated, Struct(updated, list(self._values(schema, given))))

    def _name(self, prefix: str, name: str) -> str:
        return f"{prefix}{self.settings['delimiter']}{name}" if prefix else name

    def _flat(self, given: dict[Any, Any], prefix: str) -> Iterator[tuple[str, Any]]:
        for key, value in given.items():
            name = self._name(prefix, key)
            if isinstance(value, dict):
                yield from self._flat(value, name)
            elif isinstance(value, Struct):
                raise DataInvalid(
                    "Flatten transformation does not support Struct for record without schemas"
                    f" (for field {name})."
                )
            else:
                yield name, value

    def _fields(
        self, schema: Schema, prefix: str, *, is_optional: bool, default: Any
    ) -> Iterator[tuple[str, Schema]]:
        for field in schema.fields:
            name, inner = self._name(prefix, field.name), field.schema
            optional = is_optional or inner.is_optional
            inherited = inner.default
            if inherited is None and isinstance(default, Struct):
                inherited = default[field.name]
            if inner.type is Type.STRUCT:
                yield from self._fields(inner, name, is_optional=optional, default=inherited)
            elif inner.type in PRIMITIVES or inner.type is Type.ARRAY:
                yield name, replace(inner, is_optional=optional, default=inherited)
            else:
                raise DataInvalid(
                    f"Flatten transformation does not support {inner.type} for record with schemas"
                    f" (for field {name})."
                )

    def _values(self, schema: Schema, given: Struct | None) -> Iterator[Any]:
        for field in schema.fields:
            value = None if given is None else given[field.name]
            if field.schema.type is Type.STRUCT:
                yield from self._values(field.schema, value)
            else:
                yield value

"""MaskField: replace values by the empty value of their type, or by a text or number."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from ottla.connect.data.casts import cast
from ottla.connect.data.record import Record
from ottla.connect.data.schema import FLOATS, INTEGER_BITS, Instant, Schema, Struct, Type
from ottla.connect.errors import DataInvalid
from ottla.connect.options.table import Importance, Kind, Option, Options, non_empty
from ottla.connect.transforms.settings import REPLACE_NULL
from ottla.connect.transforms.transform import KeyOrValue, require_map, require_struct

# In this order: bool is an int in Python.
_EMPTY: Final[tuple[tuple[type, Callable[[], Any]], ...]] = (
    (bool, lambda: False),
    (int, lambda: 0),
    (float, lambda: 0.0),
    (str, str),
    (Decimal, Decimal),
    (Instant, lambda: Instant(0)),
    (list, list),
    (dict, dict),
)


class MaskField(KeyOrValue):
    """Masks; nulls stay null."""

    options = Options(
        (
            Option(
                name="fields",
                kind=Kind.LIST,
                importance=Importance.HIGH,
                check=non_empty,
                doc="Fields to mask.",
            ),
            Option(
                name="replacement",
                kind=Kind.STRING,
                default=None,
                importance=Importance.LOW,
                check=non_empty,
                doc="What to put in place of numbers and texts.",
            ),
            REPLACE_NULL,
        )
    )

    def configure(self) -> None:
        """Prepare the set of fields."""
        self._fields = frozenset(self.settings["fields"])

    def apply(self, record: Record) -> Record:
        """Return the record with masked fields."""
        part, schema = self.part_of(record), self.schema_of(record)
        if schema is None:
            given = require_map(part, "mask fields")
            masked = {name: self._masked(given.get(name), None) for name in self._fields}
            return self.with_part(record, None, given | masked)
        struct = require_struct(part, "mask fields")
        defaults = self.settings["replace.null.with.default"]
        values = []
        for field, raw in struct.items():
            value = struct[field.name] if defaults else raw
            is_masked = field.name in self._fields
            values.append(self._masked(value, field.schema) if is_masked else value)
        return self.with_part(record, schema, Struct(schema, values))

    def _masked(self, value: Any, schema: Schema | None) -> Any:
        if value is None:
            return None
        if self.settings["replacement"] is None:
            for kind, empty in _EMPTY:
                if isinstance(value, kind):
                    return empty()
            raise DataInvalid(f"Cannot mask value of type: {type(value).__name__}")
        return self._replaced(value, schema)

    def _replaced(self, value: Any, schema: Schema | None) -> Any:
        text = self.settings["replacement"]
        if isinstance(value, str):
            return text
        try:
            if isinstance(value, Decimal):
                return Decimal(text)
            if isinstance(value, int | float) and not isinstance(value, bool):
                return cast(text, None, _number_type(value, schema))
        except (ArithmeticError, DataInvalid):
            raise DataInvalid(
                f"Unable to convert {text} ({type(value).__name__}) to number"
            ) from None
        raise DataInvalid(
            f"Cannot mask value of type {type(value).__name__} with custom replacement value."
        )


def _number_type(value: float, schema: Schema | None) -> Type:
    if schema is not None and (schema.type in INTEGER_BITS or schema.type in FLOATS):
        return schema.type
    return Type.FLOAT64 if isinstance(value, float) else Type.INT64

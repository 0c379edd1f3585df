"""TimestampConverter: change how a point in time is written: string, unix, Date, Time or Timestamp."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ottla.connect.data.date_format import (
    PatternInvalid,
    check_pattern,
    format_instant,
    parse_instant,
)
from ottla.connect.data.record import Record
from ottla.connect.data.schema import (
    DATE,
    INT64,
    MS_PER_DAY,
    STRING,
    TIME,
    TIMESTAMP,
    Instant,
    Schema,
    Struct,
    Type,
    logical_date,
    logical_time,
    logical_timestamp,
    struct,
)
from ottla.connect.errors import ConfigInvalid, DataInvalid
from ottla.connect.options.table import Importance, Kind, Option, Options, one_of
from ottla.connect.transforms.settings import REPLACE_NULL
from ottla.connect.transforms.transform import KeyOrValue, require_map, require_struct


def _truncated(number: int, by: int) -> int:
    """Divide as Java does: towards zero."""
    return -(-number // by) if number < 0 else number // by


_TO_MS: Final[dict[str, Callable[[int], int]]] = {
    "seconds": lambda n: n * 1000,
    "milliseconds": lambda n: n,
    "microseconds": lambda n: _truncated(n, 1000),
    "nanoseconds": lambda n: _truncated(n, 1_000_000),
}
_FROM_MS: Final[dict[str, Callable[[int], int]]] = {
    "seconds": lambda ms: _truncated(ms, 1000),
    "milliseconds": lambda ms: ms,
    "microseconds": lambda ms: ms * 1000,
    "nanoseconds": lambda ms: ms * 1_000_000,
}
_SCHEMAS: Final[dict[str, Callable[[], Schema]]] = {
    "string": lambda: STRING,
    "unix": lambda: INT64,
    "Date": logical_date,
    "Time": logical_time,
    "Timestamp": logical_timestamp,
}
_LOGICAL: Final = {DATE: "Date", TIME: "Time", TIMESTAMP: "Timestamp"}


class TimestampConverter(KeyOrValue):
    """Converts a field, or the whole key or value."""

    options = Options(
        (
            Option(
                name="field",
                kind=Kind.STRING,
                default="",
                importance=Importance.HIGH,
                doc="The field; empty for the whole key or value.",
            ),
            Option(
                name="target.type",
                kind=Kind.STRING,
                importance=Importance.HIGH,
                check=one_of("string", "unix", "Date", "Time", "Timestamp"),
                doc="What to convert to.",
            ),
            Option(
                name="format",
                kind=Kind.STRING,
                default="",
                doc="A pattern of SimpleDateFormat, for strings on either side.",
            ),
            Option(
                name="unix.precision",
                kind=Kind.STRING,
                default="milliseconds",
                importance=Importance.LOW,
                check=one_of(*_TO_MS),
                doc="The unit of unix times.",
            ),
            REPLACE_NULL,
        )
    )

    def configure(self) -> None:
        """Check the pattern."""
        self._target, self._format = self.settings["target.type"], self.settings["format"]
        self._precision = self.settings["unix.precision"]
        if self._target not in _SCHEMAS:
            raise ConfigInvalid(
                {"target.type": [f"Invalid timestamp type in target.type: {self._target}"]}
            )
        if self._target == "string" and not self._format.strip():
            raise ConfigInvalid(
                {
                    "format": [
                        "TimestampConverter requires format option to be specified when using string timestamps"
                    ]
                }
            )
        try:
            check_pattern(self._format)
        except PatternInvalid as wrong:
            raise ConfigInvalid(
                {
                    "format": [
                        "TimestampConverter requires a SimpleDateFormat-compatible pattern for string timestamps:"
                        f" {wrong}"
                    ]
                }
            ) from None

    def apply(self, record: Record) -> Record:
        """Return the record with its point in time written in another way."""
        part, schema, name = self.part_of(record), self.schema_of(record), self.settings["field"]
        if schema is None:
            if not name or part is None:
                return self.with_part(record, None, self._convert(part, None))
            given = require_map(part, "converting timestamp formats")
            return self.with_part(
                record, None, given | {name: self._convert(given.get(name), None)}
            )
        if not name:
            updated = self._schema(schema)
            return self.with_part(record, updated, self._convert(part, schema))
        if part is None:
            return record
        value = require_struct(part, "converting timestamp formats")
        fields = {
            f.name: self._schema(f.schema) if f.name == name else f.schema for f in schema.fields
        }
        updated = struct(fields, like=schema, default=None)
        defaults = self.settings["replace.null.with.default"]
        values = []
        for field, raw in value.items():
            found = value[field.name] if defaults else raw
            values.append(self._convert(found, field.schema) if field.name == name else found)
        return self.with_part(record, updated, Struct(updated, values))

    def _schema(self, schema: Schema) -> Schema:
        if not schema.is_instant and schema.type not in (Type.STRING, Type.INT64):
            raise DataInvalid(
                f"schema {schema.type} does not correspond to a known timestamp type format"
            )
        made = _SCHEMAS[self._target]()
        return made.optional() if schema.is_optional else made

    def _convert(self, value: Any, schema: Schema | None) -> Any:
        if value is None:
            return None
        return self._written(self._read(value, schema))

    def _read(self, value: Any, schema: Schema | None) -> Instant:
        if isinstance(value, Instant):
            return value
        if isinstance(value, str) and (schema is None or schema.type is Type.STRING):
            if not self._format:
                raise DataInvalid(f"no format is set, so {value!r} cannot be read as a timestamp")
            try:
                return parse_instant(self._format, value)
            except ValueError as wrong:
                raise DataInvalid(
                    f"Could not parse timestamp: value ({value}) does not match pattern ({self._format}): {wrong}"
                ) from None
        if (
            isinstance(value, int)
            and not isinstance(value, bool)
            and (schema is None or schema.type is Type.INT64)
        ):
            return Instant(_TO_MS[self._precision](value))
        raise DataInvalid(
            f"TimestampConverter does not support {type(value).__name__ if schema is None else schema.type} values"
        )

    def _written(self, at: Instant) -> Any:
        if self._target == "string":
            return format_instant(self._format, at)
        if self._target == "unix":
            return _FROM_MS[self._precision](at.epoch_ms)
        if self._target == "Date":
            return Instant(at.epoch_ms // MS_PER_DAY * MS_PER_DAY)
        if self._target == "Time":
            return Instant(at.epoch_ms % MS_PER_DAY)
        return at

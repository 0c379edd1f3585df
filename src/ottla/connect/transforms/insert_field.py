"""InsertField: add topic, partition, offset, timestamp or a fixed text as fields."""

from __future__ import annotations

from typing import Any, NamedTuple

from ottla.connect.data.record import Record
from ottla.connect.data.schema import (
    INT32,
    INT64,
    STRING,
    Instant,
    Schema,
    Struct,
    logical_timestamp,
    struct,
)
from ottla.connect.errors import ConfigInvalid, DataInvalid
from ottla.connect.options.table import Kind, Option, Options
from ottla.connect.transforms.settings import REPLACE_NULL
from ottla.connect.transforms.transform import KeyOrValue, require_map, require_struct

_SUFFIX = "A ! behind the name makes the field required, a ? optional, which it is by default."


class _Insertion(NamedTuple):
    name: str
    is_optional: bool


def _field(name: str, doc: str) -> Option:
    return Option(name=name, kind=Kind.STRING, default=None, doc=f"{doc} {_SUFFIX}")


def _read(text: str | None) -> _Insertion | None:
    if text is None:
        return None
    if text.endswith(("!", "?")):
        return _Insertion(text[:-1], text.endswith("?"))
    return _Insertion(text, True)


class InsertField(KeyOrValue):
    """Inserts; null stays null."""

    options = Options(
        (
            _field("topic.field", "Field for the topic."),
            _field("partition.field", "Field for the partition."),
            _field("offset.field", "Field for the offset; of sink connectors only."),
            _field("timestamp.field", "Field for the record's timestamp."),
            _field("static.field", "Field for a fixed text."),
            Option(name="static.value", kind=Kind.STRING, default=None, doc="The fixed text."),
            REPLACE_NULL,
        )
    )

    def configure(self) -> None:
        """Read the names with their suffixes."""
        settings = self.settings
        self._topic, self._partition = (
            _read(settings["topic.field"]),
            _read(settings["partition.field"]),
        )
        self._offset = _read(settings["offset.field"])
        self._timestamp = _read(settings["timestamp.field"])
        self._static = _read(settings["static.field"])
        if not any((self._topic, self._partition, self._offset, self._timestamp, self._static)):
            raise ConfigInvalid({"static.field": ["No field insertion configured"]})
        if self._static is not None and settings["static.value"] is None:
            raise ConfigInvalid(
                {
                    "static.value": [
                        "Invalid value null for configuration static.value: No value specified for static field"
                    ]
                }
            )

    def apply(self, record: Record) -> Record:
        """Return the record with more fields."""
        part, schema = self.part_of(record), self.schema_of(record)
        if part is None:
            return record
        if schema is None:
            added = {
                name: v
                for name, _, v in self._inserted(record, is_schemaless=True)
                if v is not None
            }
            return self.with_part(record, None, require_map(part, "field insertion") | added)
        given = require_struct(part, "field insertion")
        inserted = list(self._inserted(record, is_schemaless=False))
        fields = [(field.name, field.schema) for field in schema.fields]
        fields += [(name, kind) for name, kind, _ in inserted]
        updated = struct(iter(fields), like=schema, default=None)
        defaults = self.settings["replace.null.with.default"]
        values = [given[f.name] if defaults else raw for f, raw in given.items()]
        values += [value for _, _, value in inserted]
        return self.with_part(record, updated, Struct(updated, values))

    def _inserted(self, record: Record, *, is_schemaless: bool) -> list[tuple[str, Schema, Any]]:
        found: list[tuple[str, Schema, Any]] = []

        def add(wanted: _Insertion | None, schema: Schema, value: Any) -> None:
            if wanted is not None:
                found.append(
                    (wanted.name, schema.optional() if wanted.is_optional else schema, value)
                )

        add(self._topic, STRING, record.topic)
        if record.partition is not None:
            add(self._partition, INT32, record.partition)
        if self._offset is not None and record.origin < 0:
            raise DataInvalid("Offset insertion is only supported for sink connectors")
        add(self._offset, INT64, record.origin)
        at: Any = record.timestamp_ms
        if at is not None and not is_schemaless:
            at = Instant(at)
        if at is not None:
            add(self._timestamp, logical_timestamp(), at)
        add(self._static, STRING, self.settings["static.value"])
        return found

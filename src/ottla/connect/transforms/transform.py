"""Pure: what a transform is, and how it reads and writes the key or the value of a record."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from ottla.connect.data.record import Record
from ottla.connect.data.schema import Schema, Struct
from ottla.connect.errors import DataInvalid
from ottla.connect.options.table import Options


class Transform(ABC):
    """Changes a record, or drops it."""

    options: ClassVar[Options]

    def __init__(self, settings: Mapping[str, str | None]) -> None:
        self.settings: dict[str, Any] = self.options.parse(settings)
        self.configure()

    def configure(self) -> None:  # noqa: B027  most need nothing
        """Prepare what depends on the settings alone; raise ConfigInvalid where they do not fit each other."""

    @abstractmethod
    def apply(self, record: Record) -> Record | None:
        """Return the record as it goes on; None drops it."""


class KeyOrValue(Transform):
    """A transform that works on the key (`...$Key`) or the value (`...$Value`)."""

    is_key: ClassVar[bool] = False

    def schema_of(self, record: Record) -> Schema | None:
        """Return the schema of the part that is transformed."""
        return record.key_schema if self.is_key else record.value_schema

    def part_of(self, record: Record) -> Any:
        """Return the part that is transformed."""
        return record.key if self.is_key else record.value

    def with_part(self, record: Record, schema: Schema | None, part: Any) -> Record:
        """Return the record with another key or value."""
        if self.is_key:
            return record._replace(key_schema=schema, key=part)
        return record._replace(value_schema=schema, value=part)


def require_map(value: Any, purpose: str) -> dict[Any, Any]:
    """Return a value without schema as the map that it must be."""
    if not isinstance(value, dict):
        found = "null" if value is None else type(value).__name__
        raise DataInvalid(
            f"Only Map objects supported in absence of schema for [{purpose}], found: {found}"
        )
    return value


def require_struct(value: Any, purpose: str) -> Struct:
    """Return a value as the struct that it must be."""
    if not isinstance(value, Struct):
        found = "null" if value is None else type(value).__name__
        raise DataInvalid(f"Only Struct objects supported for [{purpose}], found: {found}")
    return value

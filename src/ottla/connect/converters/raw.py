"""ByteArrayConverter: bytes as they are."""

from __future__ import annotations

from typing import Any

from ottla.connect.converters.converter import Converter
from ottla.connect.data.schema import OPTIONAL_BYTES, Schema, Type
from ottla.connect.errors import DataInvalid


class ByteArrayConverter(Converter):
    """Converts nothing."""

    def to_bytes(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        """Return the bytes."""
        if schema is not None and schema.type is not Type.BYTES:
            raise DataInvalid(f"Invalid schema type for ByteArrayConverter: {schema.type}")
        if value is None:
            return None
        if not isinstance(value, bytes | bytearray | memoryview):
            raise DataInvalid(
                f"ByteArrayConverter is not compatible with objects of type {type(value).__name__}"
            )
        return bytes(value)

    def from_bytes(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        """Return the bytes."""
        return OPTIONAL_BYTES, data

"""Converters of single numbers and booleans, as Java's serializers write them."""

from __future__ import annotations

from struct import Struct as Layout
from typing import Any, ClassVar

from ottla.connect.converters.converter import Converter
from ottla.connect.data.schema import Schema, Type
from ottla.connect.errors import DataInvalid


class NumberConverter(Converter):
    """Converts one number, big-endian."""

    type: ClassVar[Type]
    layout: ClassVar[Layout]

    def to_bytes(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        """Return the bytes of a number."""
        if value is None:
            return None
        try:
            return self.layout.pack(value)
        except Exception:
            raise DataInvalid(
                f"Failed to serialize {type(value).__name__} as {self.type}"
            ) from None

    def from_bytes(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        """Return the number that bytes are."""
        schema = Schema(self.type, is_optional=True)
        if data is None:
            return schema, None
        if len(data) != self.layout.size:
            raise DataInvalid(
                f"Size of data received by the deserializer is not {self.layout.size}"
            )
        return schema, self.layout.unpack(data)[0]


class ShortConverter(NumberConverter):
    """Two bytes."""

    type = Type.INT16
    layout = Layout(">h")


class IntegerConverter(NumberConverter):
    """Four bytes."""

    type = Type.INT32
    layout = Layout(">i")


class LongConverter(NumberConverter):
    """Eight bytes."""

    type = Type.INT64
    layout = Layout(">q")


class FloatConverter(NumberConverter):
    """Four bytes of IEEE 754."""

    type = Type.FLOAT32
    layout = Layout(">f")


class DoubleConverter(NumberConverter):
    """Eight bytes of IEEE 754."""

    type = Type.FLOAT64
    layout = Layout(">d")


class BooleanConverter(NumberConverter):
    """One byte."""

    type = Type.BOOLEAN
    layout = Layout(">?")

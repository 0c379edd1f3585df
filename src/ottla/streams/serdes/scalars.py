"""Pure: serdes of plain values, byte for byte those of Kafka's Java serializers."""

from __future__ import annotations

import struct
import uuid
from dataclasses import dataclass
from typing import ClassVar

from ottla.streams import types
from ottla.streams.types import Type


class SerdeError(ValueError):
    """Bytes that are not of this serde, or a value that it cannot write."""


def _wrong(serde: str, wanted: str, value: object) -> SerdeError:
    return SerdeError(f"the serde {serde} takes {wanted}, but the value is {type(value).__name__}")


@dataclass(frozen=True)
class BytesSerde:
    """The bytes as they are."""

    name: ClassVar[str] = "bytes"
    type: ClassVar[Type] = types.BYTES

    def serialize(self, value: object) -> bytes:
        if not isinstance(value, bytes | bytearray | memoryview):
            raise _wrong(self.name, "bytes", value)
        return bytes(value)

    def deserialize(self, data: bytes) -> object:
        return data


@dataclass(frozen=True)
class StringSerde:
    """UTF-8."""

    name: ClassVar[str] = "string"
    type: ClassVar[Type] = types.STRING

    def serialize(self, value: object) -> bytes:
        if not isinstance(value, str):
            raise _wrong(self.name, "a str", value)
        return value.encode()

    def deserialize(self, data: bytes) -> object:
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise SerdeError(f"not UTF-8: {error}") from None


@dataclass(frozen=True)
class WholeNumberSerde:
    """A signed number of a fixed size, big-endian, as Java's: `int` is 4 bytes, `long` 8."""

    name: str
    size: int
    type: Type

    def serialize(self, value: object) -> bytes:
        if not isinstance(value, int) or isinstance(value, bool):
            raise _wrong(self.name, "an int", value)
        try:
            return value.to_bytes(self.size, "big", signed=True)
        except OverflowError:
            raise SerdeError(
                f"{value} does not fit into the {self.size} bytes of {self.name}"
            ) from None

    def deserialize(self, data: bytes) -> object:
        if len(data) != self.size:
            raise SerdeError(f"{self.name} is {self.size} bytes long, but there are {len(data)}")
        return int.from_bytes(data, "big", signed=True)


@dataclass(frozen=True)
class DoubleSerde:
    """An IEEE 754 number of 8 bytes, big-endian."""

    name: ClassVar[str] = "double"
    type: ClassVar[Type] = types.DOUBLE

    def serialize(self, value: object) -> bytes:
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise _wrong(self.name, "a float", value)
        return struct.pack(">d", value)

    def deserialize(self, data: bytes) -> object:
        if len(data) != 8:
            raise SerdeError(f"double is 8 bytes long, but there are {len(data)}")
        return struct.unpack(">d", data)[0]


@dataclass(frozen=True)
class BooleanSerde:
    """One byte, 0 or 1."""

    name: ClassVar[str] = "boolean"
    type: ClassVar[Type] = types.BOOLEAN

    def serialize(self, value: object) -> bytes:
        if not isinstance(value, bool):
            raise _wrong(self.name, "a bool", value)
        return b"\x01" if value else b"\x00"

    def deserialize(self, data: bytes) -> object:
        if data not in (b"\x00", b"\x01"):
            raise SerdeError("boolean is one byte, 0 or 1")
        return data == b"\x01"


@dataclass(frozen=True)
class UuidSerde:
    """The 36 characters of a UUID, as Kafka's UUIDSerializer writes them."""

    name: ClassVar[str] = "uuid"
    type: ClassVar[Type] = types.UUID

    def serialize(self, value: object) -> bytes:
        if not isinstance(value, uuid.UUID):
            raise _wrong(self.name, "a UUID", value)
        return str(value).encode()

    def deserialize(self, data: bytes) -> object:
        try:
            return uuid.UUID(data.decode())
        except (UnicodeDecodeError, ValueError):
            raise SerdeError("not the text of a UUID") from None


INT = WholeNumberSerde("int", 4, types.INT)
LONG = WholeNumberSerde("long", 8, types.LONG)

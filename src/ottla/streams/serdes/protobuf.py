"""Protobuf messages (`pip install 'ottla[streams]'`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from ottla.streams import types
from ottla.streams.errors import TopologyError
from ottla.streams.serdes.scalars import SerdeError
from ottla.streams.types import ANY, ListOf, Struct, Type


@dataclass(frozen=True)
class ProtobufSerde:
    """Messages of one generated class: values are its instances."""

    message: Any
    type: Type = field(init=False, hash=False)
    name: ClassVar[str] = "protobuf"

    def __post_init__(self) -> None:
        if not hasattr(self.message, "DESCRIPTOR"):
            raise TopologyError(
                f"ProtobufSerde takes a message class that protoc generated, not {self.message!r}"
            )
        object.__setattr__(self, "type", _type_of(self.message.DESCRIPTOR, 0))

    def serialize(self, value: object) -> bytes:
        if not isinstance(value, self.message):
            raise SerdeError(
                f"the serde takes {self.message.__name__}, but the value is {type(value).__name__}"
            )
        data: bytes = value.SerializeToString(deterministic=True)
        return data

    def deserialize(self, data: bytes) -> object:
        try:
            value: object = self.message.FromString(data)
        except Exception as error:
            raise SerdeError(f"not a {self.message.__name__}: {error}") from None
        return value


_DEEPEST = 8
"""Messages may contain themselves: below this many levels nothing is known."""

_TYPES = {
    1: types.LONG, 2: types.LONG, 3: types.LONG, 4: types.LONG, 5: types.DOUBLE, 6: types.DOUBLE,
    7: types.BOOLEAN, 8: types.LONG,
}  # fmt: skip
"""By the number of the C++ type: int32, int64, uint32, uint64, double, float, bool, enum."""

_STRING, _MESSAGE, _BYTES_TYPE = 9, 10, 12


def _type_of(descriptor: Any, depth: int) -> Type:
    if depth > _DEEPEST:
        return ANY
    fields = tuple((part.name, _field(part, depth)) for part in descriptor.fields)
    return Struct(descriptor.name, fields)


def _field(part: Any, depth: int) -> Type:
    if part.cpp_type == _MESSAGE:
        if part.message_type.GetOptions().map_entry:
            return ANY
        single = _type_of(part.message_type, depth + 1)
    elif part.cpp_type == _STRING:
        single = types.BYTES if part.type == _BYTES_TYPE else types.STRING
    else:
        single = _TYPES.get(part.cpp_type, ANY)
    repeated = (
        part.is_repeated if hasattr(part, "is_repeated") else part.label == part.LABEL_REPEATED
    )
    return ListOf(single) if repeated else single

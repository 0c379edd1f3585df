"""Avro without a container file, by fastavro (`pip install 'ottla[streams]'`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any, ClassVar

from ottla.streams import types
from ottla.streams.errors import TopologyError
from ottla.streams.serdes.scalars import SerdeError
from ottla.streams.types import ANY, ListOf, MapOf, Struct, Type

_MAGIC = b"\x00"
_HEADER_BYTES = 5


@dataclass(frozen=True)
class AvroSerde:
    """One datum of this schema; a record is a dict.

    With `schema_id`, each value begins with a zero byte and the four bytes of the id, as schema registries
    have it: they are written so, and such a header is skipped when reading, whatever the id.
    """

    schema: Mapping[str, Any] = field(hash=False)
    schema_id: int | None = None
    type: Type = field(init=False, hash=False)
    _parsed: Any = field(init=False, repr=False, compare=False)
    name: ClassVar[str] = "avro"

    def __post_init__(self) -> None:
        try:
            from fastavro import parse_schema
            from fastavro.schema import SchemaParseException, UnknownType
        except ImportError:
            raise TopologyError(
                "Avro needs fastavro: install it with pip install 'ottla[streams]'"
            ) from None
        try:
            parsed = parse_schema(dict(self.schema))
        except (SchemaParseException, UnknownType, KeyError) as error:
            raise TopologyError(f"this is no Avro schema: {error!r}") from None
        object.__setattr__(self, "_parsed", parsed)
        object.__setattr__(self, "type", _type_of(self.schema))

    def serialize(self, value: object) -> bytes:
        from fastavro import schemaless_writer

        out = BytesIO()
        if self.schema_id is not None:
            out.write(_MAGIC + self.schema_id.to_bytes(4, "big"))
        try:
            schemaless_writer(out, self._parsed, value)
        except Exception as error:
            raise SerdeError(f"does not fit the Avro schema: {error!r}") from None
        return out.getvalue()

    def deserialize(self, data: bytes) -> object:
        from fastavro import schemaless_reader

        body = data
        if self.schema_id is not None:
            if len(data) < _HEADER_BYTES or data[:1] != _MAGIC:
                raise SerdeError("does not begin with the header of a schema registry")
            body = data[_HEADER_BYTES:]
        stream = BytesIO(body)
        try:
            value: object = schemaless_reader(stream, self._parsed, None)
        except Exception as error:
            raise SerdeError(f"not of the Avro schema: {error!r}") from None
        if stream.tell() != len(body):
            raise SerdeError(f"{len(body) - stream.tell()} bytes are left behind the Avro datum")
        return value


_TYPES: Mapping[str, Type] = {
    "null": types.NULL, "boolean": types.BOOLEAN, "int": types.INT, "long": types.LONG, "float": types.DOUBLE,
    "double": types.DOUBLE, "bytes": types.BYTES, "string": types.STRING, "enum": types.STRING,
    "fixed": types.BYTES,
}  # fmt: skip


def _type_of(schema: Any) -> Type:
    if isinstance(schema, list):
        known = [part for part in schema if part != "null"]
        return _type_of(known[0]) if len(known) == 1 else ANY
    if not isinstance(schema, Mapping):
        return _TYPES.get(schema, ANY)
    kind = schema.get("type")
    if kind == "record":
        fields = tuple((part["name"], _type_of(part["type"])) for part in schema["fields"])
        return Struct(str(schema["name"]), fields)
    if kind == "array":
        return ListOf(_type_of(schema["items"]))
    if kind == "map":
        return MapOf(_type_of(schema["values"]))
    return ANY if "logicalType" in schema else _type_of(kind)

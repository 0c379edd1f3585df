"""Pure: types of keys and values, as expressions need them: from dataclasses, annotations or a schema.

A type is known or not (`ANY`). A field that a known struct does not have is an error when the topology is
built; a field of an unknown one is null where it is missing.
"""

from __future__ import annotations

import dataclasses
import types
import typing
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal

from ottla.streams.errors import TopologyError

ScalarName = Literal[
    "any", "null", "boolean", "int", "long", "double", "string", "bytes", "uuid", "decimal", "date", "timestamp"
]  # fmt: skip


@dataclass(frozen=True)
class Scalar:
    """A type without parts; `any` is one of which nothing is known, and whose fields may be asked for."""

    name: ScalarName

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class ListOf:
    """A list, all of whose items have one type."""

    item: Type

    def __str__(self) -> str:
        return f"list of {self.item}"


@dataclass(frozen=True)
class MapOf:
    """A mapping of strings to values of one type; any key may be asked for."""

    value: Type

    def __str__(self) -> str:
        return f"map of {self.value}"


@dataclass(frozen=True)
class Struct:
    """Named fields in order; `name` is the class or the record that declares them."""

    name: str
    fields: tuple[tuple[str, Type], ...]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(name for name, _ in self.fields)})"

    def field(self, name: str) -> Type | None:
        """The type of a field, None if there is no such field."""
        return dict(self.fields).get(name)


Type = Scalar | ListOf | MapOf | Struct

ANY = Scalar("any")
NULL = Scalar("null")
BOOLEAN = Scalar("boolean")
INT = Scalar("int")
LONG = Scalar("long")
DOUBLE = Scalar("double")
STRING = Scalar("string")
BYTES = Scalar("bytes")
UUID = Scalar("uuid")
DECIMAL = Scalar("decimal")
DATE = Scalar("date")
TIMESTAMP = Scalar("timestamp")

NUMBERS = frozenset((INT, LONG, DOUBLE, DECIMAL))

WINDOWED_FIELDS: tuple[tuple[str, Type], ...] = (("start_ms", LONG), ("end_ms", LONG))

_OF_CLASS: Mapping[object, Type] = {
    type(None): NULL, bool: BOOLEAN, int: LONG, float: DOUBLE, str: STRING, bytes: BYTES, uuid.UUID: UUID,
    Decimal: DECIMAL, date: DATE, datetime: TIMESTAMP,
}  # fmt: skip


def of_annotation(annotation: object) -> Type:
    """Return the type of an annotation: a class, a dataclass, `list[int]`, `dict[str, float]`, `str | None`."""
    if annotation in _OF_CLASS:
        return _OF_CLASS[annotation]
    if isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
        return of_dataclass(annotation)
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        known = [argument for argument in arguments if argument is not type(None)]
        return of_annotation(known[0]) if len(known) == 1 else ANY
    if origin in (list, tuple, set, frozenset) and arguments:
        return ListOf(of_annotation(arguments[0]))
    if origin is dict and len(arguments) == 2:
        return MapOf(of_annotation(arguments[1]))
    return ANY


def of_dataclass(cls: type) -> Struct:
    """Return the type of a dataclass; raise TopologyError if an annotation cannot be resolved."""
    try:
        hints = typing.get_type_hints(cls)
    except NameError as error:
        raise TopologyError(
            f"{cls.__name__} has an annotation that cannot be resolved ({error}): "
            "declare the class at the top of its module"
        ) from None
    fields: list[tuple[str, Type]] = []
    for field in dataclasses.fields(cls):
        if hints[field.name] is cls:
            fields.append((field.name, ANY))
        else:
            fields.append((field.name, of_annotation(hints[field.name])))
    return Struct(cls.__name__, tuple(fields))


_JSON_TYPES: Mapping[str, Type] = {
    "string": STRING, "integer": LONG, "number": DOUBLE, "boolean": BOOLEAN, "null": NULL
}  # fmt: skip


def of_json_schema(schema: Mapping[str, Any]) -> Type:
    """Return the type of a JSON Schema, as far as expressions need it: properties, items, unions with null."""
    kind = schema.get("type")
    if isinstance(kind, list):
        known = [name for name in kind if name != "null"]
        return of_json_schema({**schema, "type": known[0]}) if len(known) == 1 else ANY
    if kind == "object" and "properties" in schema:
        properties = schema["properties"].items()
        fields = tuple((name, of_json_schema(part)) for name, part in properties)
        return Struct(str(schema.get("title", "object")), fields)
    if kind == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return MapOf(of_json_schema(schema["additionalProperties"]))
    if kind == "array" and isinstance(schema.get("items"), Mapping):
        return ListOf(of_json_schema(schema["items"]))
    return _JSON_TYPES.get(str(kind), ANY)


def described(type_: Type) -> str:
    """Return the type in words, for messages: the fields of a struct are listed."""
    if isinstance(type_, Struct):
        return f"{type_.name} with the fields {', '.join(name for name, _ in type_.fields)}"
    return str(type_)

"""Pure: JSON, with a dataclass, with a JSON Schema, or as it comes."""

from __future__ import annotations

import dataclasses
import json
import types as python_types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any, ClassVar
from uuid import UUID

from ottla.streams import types
from ottla.streams.serdes.scalars import SerdeError
from ottla.streams.types import Type


@dataclass(frozen=True)
class JsonSerde:
    """JSON in UTF-8.

    With a dataclass, values are its instances: a missing field without default or one of another type is an
    error, fields that the class does not have are left out. With a JSON Schema, values are checked against
    its `type`, `properties`, `required`, `items` and `enum`. With neither they are whatever the JSON is.
    """

    schema: type | Mapping[str, Any] | None = None
    type: Type = field(init=False)
    name: ClassVar[str] = "json"

    def __post_init__(self) -> None:
        object.__setattr__(self, "type", _type_of(self.schema))

    def __hash__(self) -> int:
        return hash(str(self.schema))

    def serialize(self, value: object) -> bytes:
        if isinstance(self.schema, Mapping):
            _check(value, self.schema, "the value")
        try:
            text = json.dumps(
                value, default=_plain, ensure_ascii=False, separators=(",", ":"), allow_nan=False
            )
            return text.encode()
        except (TypeError, ValueError, UnicodeEncodeError) as error:
            raise SerdeError(f"cannot be written as JSON: {error}") from None

    def deserialize(self, data: bytes) -> object:
        try:
            value = json.loads(data, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            raise SerdeError(f"not JSON: {error}") from None
        if isinstance(self.schema, Mapping):
            _check(value, self.schema, "the value")
        elif self.schema is not None and value is not None:
            return _built(value, self.schema, "the value")
        return value


def _type_of(schema: Any) -> Type:
    if schema is None:
        return types.ANY
    return (
        types.of_json_schema(schema) if isinstance(schema, Mapping) else types.of_annotation(schema)
    )


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, date | datetime):
        return value.isoformat()
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} is not a type of JSON")


def _built(value: Any, annotation: Any, where: str) -> Any:
    """Return the value as an annotation has it; raise SerdeError if it is something else."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is Any:
        return value
    if origin in (typing.Union, python_types.UnionType):
        return _one_of(value, arguments, where)
    if dataclasses.is_dataclass(annotation) and isinstance(annotation, type):
        return _instance(value, annotation, where)
    if origin is list and isinstance(value, list):
        return [_built(item, arguments[0], f"{where}[{index}]") for index, item in enumerate(value)]
    if origin is dict and isinstance(value, dict):
        return {name: _built(part, arguments[1], f"{where}.{name}") for name, part in value.items()}
    if annotation is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if annotation in _FROM_TEXT and isinstance(value, str):
        try:
            return _FROM_TEXT[annotation](value)
        except (ValueError, ArithmeticError):
            raise SerdeError(f"{where} is {value!r}, which is no {annotation.__name__}") from None
    expected = origin or annotation
    fits = isinstance(value, expected) and not (isinstance(value, bool) and expected is not bool)
    if not fits:
        raise SerdeError(
            f"{where} is a {type(value).__name__}, but must be {getattr(expected, '__name__', expected)}"
        )
    return value


_FROM_TEXT: Mapping[Any, Any] = {
    UUID: UUID, Decimal: Decimal, datetime: datetime.fromisoformat, date: date.fromisoformat
}  # fmt: skip


def _one_of(value: Any, choices: tuple[Any, ...], where: str) -> Any:
    if value is None and type(None) in choices:
        return None
    problem = SerdeError(f"{where} is null, which it must not be")
    for choice in choices:
        if choice is not type(None):
            try:
                return _built(value, choice, where)
            except SerdeError as error:
                problem = error
    raise problem


def _instance(value: Any, cls: type, where: str) -> Any:
    if not isinstance(value, dict):
        raise SerdeError(
            f"{where} is a {type(value).__name__}, but must be an object ({cls.__name__})"
        )
    hints = typing.get_type_hints(cls)
    given = {}
    for each in dataclasses.fields(cls):
        if each.name in value:
            given[each.name] = _built(value[each.name], hints[each.name], f"{where}.{each.name}")
        elif each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING:
            raise SerdeError(f"{where} has no field {each.name}, which {cls.__name__} needs")
    return cls(**given)


_CLASSES: Mapping[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "null": (type(None),),
    "object": (dict,), "array": (list, tuple),
}  # fmt: skip


def _check(value: Any, schema: Mapping[str, Any], where: str) -> None:
    kinds = schema.get("type")
    names = [kinds] if isinstance(kinds, str) else kinds or []
    if names and not any(_is(value, name) for name in names):
        raise SerdeError(
            f"{where} is a {type(value).__name__}, but the schema says {' or '.join(names)}"
        )
    if "enum" in schema and value not in schema["enum"]:
        raise SerdeError(f"{where} is {value!r}, which is none of {schema['enum']}")
    if isinstance(value, Mapping):
        for name in schema.get("required", ()):
            if name not in value:
                raise SerdeError(f"{where} has no field {name}, which the schema requires")
        for name, part in schema.get("properties", {}).items():
            if name in value:
                _check(value[name], part, f"{where}.{name}")
    if isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        for index, item in enumerate(value):
            _check(item, schema["items"], f"{where}[{index}]")


def _is(value: object, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, _CLASSES.get(name, (object,)))
